// SPDX-License-Identifier: Apache-2.0
// Models that are one file, in other forms: validate model.onnx --to-model, --cases.
#pragma once

#include <string>

#include "app/graph/graph_model.h"

namespace dmlop {

// Prints the model as one of DxDispatch: a dispatch for each operator, and a resource for each
// tensor. Constants that are not equal numbers are in it up to a limit, and beyond that files of
// the folder; without one, throws an Error of kind kUsage.
void PrintDispatchModel(GraphModel& model, const NamedGraph& graph, const std::string& folder);

// Runs the model, and writes each operator with the tensors that it reads and fills into a folder,
// and a manifest of all.
void WriteCases(GraphModel& model, const NamedGraph& graph, const std::string& folder);

}  // namespace dmlop
