// The operators of a model, and the one of them that --dispatchable names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_document.h"

namespace dmlop {

struct ModelOperator {
  std::string name;           // of the dispatchable, or of the node
  std::string name_in_graph;  // "graph.node"; empty for a dispatchable
  const OperatorDesc* op;     // of the model
};

std::vector<ModelOperator> OperatorsOf(const ModelDocument& model);

// By which FindModelOperator finds each: the name alone, if that means no other.
std::vector<std::string> ShortestNames(const std::vector<ModelOperator>& all);

// The names of their tensors, each once.
std::vector<std::string_view> FieldsOf(const std::vector<ModelOperator>& all);

// The dispatchable of that name or, if there is none, the node of a graph. Throws an Error of kind
// kUsage where several nodes are meant, or a graph; null where nothing has the name.
const ModelOperator* FindModelOperator(const ModelDocument& model,
                                       const std::vector<ModelOperator>& all,
                                       const std::string& name);

}  // namespace dmlop
