// SPDX-License-Identifier: Apache-2.0
// Runs a model that is one file: run model.onnx, run graph.bin.
#pragma once

#include "app/exit_status.h"
#include "app/options/options.h"

namespace dmlop {

ExitStatus RunGraphModel(const RunOptions& options, const CommonOptions& common);

}  // namespace dmlop
