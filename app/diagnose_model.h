// SPDX-License-Identifier: Apache-2.0
// dmlop diagnose for nodes of a model, each judged on what it was given.
#pragma once

#include "app/exit_status.h"
#include "app/files/descriptor.h"
#include "app/options/options.h"

namespace dmlop {

// Diagnoses nodes of an ONNX model or a serialized graph.
ExitStatus DiagnoseGraph(const DiagnoseOptions& options, const CommonOptions& common);

// Diagnoses operators of a DxDispatch model that was read from `descriptor`.
ExitStatus DiagnoseModel(const DiagnoseOptions& options, const CommonOptions& common,
                         const Descriptor& descriptor, const ModelDocument& model,
                         Diagnostics& diagnostics);

}  // namespace dmlop
