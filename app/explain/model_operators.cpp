#include "app/explain/model_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.h"

namespace dmlop {
namespace {

// Which has the name of a dispatchable, but is not one operator.
void RequireNoGraph(const ModelDocument& model, const std::string& name) {
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    if (dispatchable.graph() == nullptr || dispatchable.name != name) continue;
    std::vector<std::string> names;
    for (const auto& named : dispatchable.operators()) names.push_back(named.name);
    throw Error(ErrorKind::kUsage,
                fmt::format("{} is a graph; --dispatchable takes one of its operators, {}, and the "
                            "names of its edges need none",
                            name, fmt::join(names, ", ")));
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
                          name, nodes.size(), fmt::join(names, ", ")));
}

}  // namespace dmlop
