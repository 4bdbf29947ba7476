// SPDX-License-Identifier: Apache-2.0
// The operators of a model, and the search for the one that --dispatchable names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_document.h"

namespace dmlop {

struct ModelOperator {
  std::string name;           // of the dispatchable or the node
  std::string name_in_graph;  // "graph.node"; empty for a dispatchable
  const OperatorDesc* op;     // in the model
};

std::vector<ModelOperator> OperatorsOf(const ModelDocument& model);

// Names by which FindModelOperator finds each operator: the short name if it is unique.
std::vector<std::string> ShortestNames(const std::vector<ModelOperator>& all);

// The names of their tensor fields, each once.
std::vector<std::string_view> FieldsOf(const std::vector<ModelOperator>& all);

// The dispatchable called `name` or, if there is none, the node of a graph. Throws an Error of kind
// kUsage if the name is that of several nodes or of a graph; null if nothing has it.
const ModelOperator* FindModelOperator(const ModelDocument& model,
                                       const std::vector<ModelOperator>& all,
                                       const std::string& name);

}  // namespace dmlop
