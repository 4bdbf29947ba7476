// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_document.h"

namespace dmlop {

const OperatorDesc* ModelDispatchable::op() const {
  const auto* object = std::get_if<OperatorObject>(&what);
  return object == nullptr ? nullptr : &object->op();
}

const Graph* ModelDispatchable::graph() const {
  const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&what);
  return graph == nullptr ? nullptr : graph->get();
}

std::string_view ModelDispatchable::type() const {
  return op() == nullptr ? kGraphType : op()->name();
}

std::vector<TensorSlot> ModelDispatchable::slots() const {
  return op() == nullptr ? SlotsOf(*graph()) : TensorSlots(*op());
}

std::vector<std::string_view> ModelDispatchable::bind_points() const {
  std::vector<std::string_view> names;
  if (op() != nullptr) {
    for (const Field* bind_point : TensorFieldsOf(op()->info())) names.push_back(bind_point->name);
    return names;
  }
  for (const size_t edge : graph()->inputs) names.push_back(graph()->edges[edge].name);
  for (const size_t edge : graph()->outputs) names.push_back(graph()->edges[edge].name);
  return names;
}

std::vector<ModelDispatchable::NamedOperator> ModelDispatchable::operators() const {
  if (op() != nullptr) return {{name, op()}};
  std::vector<NamedOperator> all;
  for (const GraphNode& node : graph()->nodes) all.push_back({node.name, &node.op});
  return all;
}

bool ModelDocument::IsModel(const JsonDocument& json) {
  const auto has = [&](std::string_view name) { return json.root().Find(name).has_value(); };
  if (has("dispatchables")) return true;
  return (has("resources") || has("commands")) && !has("type") && !has("Type");
}

}  // namespace dmlop
