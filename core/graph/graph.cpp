// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

namespace dmlop {
namespace {

constexpr auto kGraphInput = field::Input("input");
constexpr auto kGraphOutput = field::Output("output");

}  // namespace

std::vector<TensorSlot> SlotsOf(const Graph& graph) {
  std::vector<TensorSlot> slots;
  const auto add = [&](const std::vector<size_t>& edges, const Field& field) {
    for (const size_t number : edges) {
      const GraphEdge& edge = graph.edges[number];
      if (edge.desc) slots.push_back({edge.name, &field, &*edge.desc, TypeVariable::kT});
    }
  };
  add(graph.inputs, kGraphInput);
  add(graph.outputs, kGraphOutput);
  return slots;
}

// --- names ---------------------------------------------------------------------------------------

namespace {

GraphPort PortOf(const Graph& graph, size_t edge) {
  const GraphEdge& of = graph.edges[edge];
  if (!of.desc) return {.name = of.name, .type = DataType::kUnknown, .has_default = true};
  return {.name = of.name,
          .type = *of.desc->data_type,
          .sizes = {of.desc->sizes->begin(), of.desc->sizes->end()},
          .strides = of.desc->strides.value_or(std::vector<uint32_t>()),
          .edge = edge};
}

}  // namespace

std::shared_ptr<const NamedGraph> NamedAsItIs(const Graph& graph) {
  auto named = std::make_shared<NamedGraph>();
  named->graph = graph;
  for (const size_t edge : graph.inputs) named->inputs.push_back(PortOf(graph, edge));
  for (const size_t edge : graph.outputs) named->outputs.push_back(PortOf(graph, edge));
  for (size_t e = 0; e < graph.edges.size(); ++e) named->tensors.push_back(PortOf(graph, e));
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    named->nodes.push_back({node.name, std::string(node.op.name()), "", n, n + 1, {}});
  }
  return named;
}

}  // namespace dmlop
