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

}  // namespace dmlop
