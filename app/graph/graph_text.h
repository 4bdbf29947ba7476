// SPDX-License-Identifier: Apache-2.0
// Models that are one file, in words: validate model.onnx, show model.onnx, show graph.bin.
#pragma once

#include <string>

#include "app/exit_status.h"
#include "app/options/options.h"

namespace dmlop {

// Says node by node which operators of DirectML compute the model and from which level on, or why
// none do.
ExitStatus ValidateGraphModel(const std::string& path, const ValidateOptions& options,
                              const CommonOptions& common);

// Lists inputs, outputs and nodes with types, sizes and operators.
ExitStatus ShowGraphModel(const std::string& path, const ShowOptions& options,
                          const CommonOptions& common);

}  // namespace dmlop
