// SPDX-License-Identifier: Apache-2.0
// Runs a graph on zeros if it is small.
#pragma once

#include <algorithm>
#include <vector>

#include "core/graph/graph_run.h"

namespace dmlop {

inline constexpr uint64_t kMaxBytes = 1 << 16;  // over all tensors
inline constexpr size_t kMaxNodes = 16;

inline bool IsSmall(const Graph& graph) {
  uint64_t bytes = 0;
  for (const GraphNode& node : graph.nodes) {
    for (const TensorSlot& slot : TensorSlots(node.op)) {
      bytes += std::min(SizeInBytes(*slot.desc), kMaxBytes + 1);
      if (bytes > kMaxBytes) return false;
    }
  }
  return graph.nodes.size() <= kMaxNodes;
}

inline void RunIfSmall(const Graph& graph) {
  if (!IsSmall(graph)) return;
  std::vector<Buffer> buffers;
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
  for (const TensorSlot& slot : SlotsOf(graph)) {
    Buffer& buffer = buffers.emplace_back(SizeInBytes(*slot.desc));
    const TensorView view{buffer.data(), *slot.desc->data_type, LayoutOf(*slot.desc)};
    if (slot.role() == TensorRole::kInput) {
      inputs.push_back(AsConst(view));
    } else {
      outputs.push_back(view);
    }
  }
  RunGraph(graph, inputs, outputs, {.may_chain = true});
}

}  // namespace dmlop
