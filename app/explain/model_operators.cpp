// SPDX-License-Identifier: Apache-2.0
#include "app/explain/model_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/base/error.h"

namespace dmlop {
namespace {

// Throws an Error of kind kUsage if the name is that of a graph, which is not one operator.
void RequireNoGraph(const ModelDocument& model, const std::string& name) {
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    if (dispatchable.graph() == nullptr || dispatchable.name != name) continue;
    std::vector<std::string> names;
    for (const auto& named : dispatchable.operators()) names.push_back(named.name);
    throw Error(ErrorKind::kUsage,
                fmt::format("{} is a graph; --dispatchable takes one of its operators, {}, and the "
                            "names of its edges need none",
                            name, Listed(names)));
  }
}

}  // namespace

std::vector<ModelOperator> OperatorsOf(const ModelDocument& model) {
  std::vector<ModelOperator> all;
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    for (auto& named : dispatchable.operators()) {
      const bool is_node = dispatchable.graph() != nullptr;
      std::string in_graph = is_node ? fmt::format("{}.{}", dispatchable.name, named.name) : "";
      all.push_back({std::move(named.name), std::move(in_graph), named.op});
    }
  }
  return all;
}

std::vector<std::string> ShortestNames(const std::vector<ModelOperator>& all) {
  std::map<std::string_view, size_t> count;
  for (const ModelOperator& one : all) ++count[one.name];
  std::vector<std::string> names;
  for (const ModelOperator& one : all) {
    const bool needs_graph = count[one.name] > 1 && !one.name_in_graph.empty();
    names.push_back(needs_graph ? one.name_in_graph : one.name);
  }
  return names;
}

std::vector<std::string_view> FieldsOf(const std::vector<ModelOperator>& all) {
  std::vector<std::string_view> fields;
  for (const ModelOperator& one : all) {
    for (const TensorSlot& slot : TensorSlots(*one.op)) {
      const std::string_view field = slot.field->name;
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
    }
  }
  return fields;
}

const ModelOperator* FindModelOperator(const ModelDocument& model,
                                       const std::vector<ModelOperator>& all,
                                       const std::string& name) {
  std::vector<const ModelOperator*> nodes;
  for (const ModelOperator& one : all) {
    const bool is_node = !one.name_in_graph.empty();
    if (!is_node && one.name == name) return &one;
    if (is_node && (one.name == name || one.name_in_graph == name)) nodes.push_back(&one);
  }
  if (nodes.empty()) RequireNoGraph(model, name);
  if (nodes.size() <= 1) return nodes.empty() ? nullptr : nodes.front();
  std::vector<std::string> names;
  for (const ModelOperator* node : nodes) names.push_back(node->name_in_graph);
  throw Error(ErrorKind::kUsage,
              fmt::format("--dispatchable {}: is the name of {} nodes, {}; the elements of their "
                          "tensors need none",
                          name, nodes.size(), Listed(names)));
}

}  // namespace dmlop
