// SPDX-License-Identifier: Apache-2.0
// The command "run" for models: of DxDispatch, or in one file such as model.onnx or graph.bin.
#pragma once

#include "app/exit_status.h"
#include "app/files/descriptor.h"
#include "app/options/options.h"

namespace dmlop {

// Executes the commands of the model, unless `diagnostics`, from reading it, has errors.
ExitStatus RunModel(const RunOptions& options, const CommonOptions& common,
                    const Descriptor& descriptor, const ModelDocument& model,
                    Diagnostics& diagnostics);

ExitStatus RunGraphModel(const RunOptions& options, const CommonOptions& common);

}  // namespace dmlop
