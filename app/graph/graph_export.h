// SPDX-License-Identifier: Apache-2.0
// Models that are one file, in other forms: validate model.onnx --to-model, --cases and
// --print-complete.
#pragma once

#include "app/exit_status.h"
#include "app/graph/graph_model.h"
#include "app/options/options.h"

namespace dmlop {

// True if the options ask for another form.
inline bool Exports(const ValidateOptions& options) {
  return options.to_model || options.print_complete || !options.cases_folder.empty();
}

// Prints the model as one of DxDispatch, with a dispatch for each operator and a resource for each
// tensor, or prints the descriptors of its operators, or runs it and writes these with their
// tensors as cases of a manifest. Constants that are not equal numbers are in the model up to a
// limit, and beyond that files of the output folder; without one, throws an Error of kind kUsage.
ExitStatus ExportGraph(GraphModel& model, const NamedGraph& graph, const ValidateOptions& options,
                       const CommonOptions& common);

}  // namespace dmlop
