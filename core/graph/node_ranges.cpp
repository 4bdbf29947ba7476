// SPDX-License-Identifier: Apache-2.0
#include "core/graph/node_ranges.h"

#include <algorithm>
#include <map>

#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

// Returns whether rows that are not repeated follow one another: then some rows are a contiguous
// part of memory.
bool HasRowsInOrder(const Layout& layout) {
  int64_t inner = 1;
  for (size_t d = layout.rank(); d-- > 0;) {
    if (layout.sizes[d] == 1 || layout.strides[d] == 0) continue;
    if (layout.strides[d] < inner) return false;
    inner = layout.strides[d];
  }
  return true;
}

// A chain that grows node by node.
class Chain {
 public:
  static bool MayHave(const GraphNode& node) {
    if (!RunsOnAnyPart(node.op)) return false;
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    return std::all_of(slots.begin(), slots.end(), [](const TensorSlot& slot) {
      return !HasNibbles(*slot.desc->data_type) && HasRowsInOrder(LayoutOf(*slot.desc));
    });
  }

  // Returns whether the node continues with what the chain computes.
  bool Continues(const GraphNode& node) const {
    if (!MayHave(node)) return false;
    bool reads_it = false;
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto found = computed_.find(node.edges[i]);
      if (found == computed_.end()) continue;
      if (!AreAlike(*found->second, *slots[i].desc)) return false;
      reads_it = true;
    }
    return reads_it;
  }

  void Add(const GraphNode& node) {
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].role() == TensorRole::kOutput) computed_[node.edges[i]] = slots[i].desc;
    }
  }

 private:
  std::map<size_t, const TensorDesc*> computed_;
};

// Returns whether a node reads nothing, and fills one tensor that another node reads.
bool IsSource(const Graph& graph, const EdgeUses& uses, const NodeRange& range) {
  const GraphNode& node = graph.nodes[range.begin];
  const std::vector<TensorSlot> slots = TensorSlots(node.op);
  return range.size() == 1 && slots.size() == 1 && slots[0].role() == TensorRole::kOutput &&
         uses.IsBetween(node.edges[0]) && uses.Last(node.edges[0]) > range.begin;
}

// Moves sources to where their tensors are read first, so that they take no memory before.
std::vector<NodeRange> WithSourcesLate(const Graph& graph, const std::vector<NodeRange>& ranges) {
  const EdgeUses uses(graph);
  std::map<size_t, NodeRange> waiting;  // by the edge that is filled
  std::vector<NodeRange> ordered;
  for (const NodeRange& range : ranges) {
    if (IsSource(graph, uses, range)) {
      waiting.emplace(graph.nodes[range.begin].edges[0], range);
      continue;
    }
    for (size_t n = range.begin; n < range.end; ++n) {
      for (const size_t edge : graph.nodes[n].edges) {
        if (const auto source = waiting.extract(edge)) ordered.push_back(source.mapped());
      }
    }
    ordered.push_back(range);
  }
  return ordered;
}

}  // namespace

std::vector<NodeRange> ChainsOf(const Graph& graph) {
  std::vector<NodeRange> ranges;
  for (size_t begin = 0, end = 0; begin < graph.nodes.size(); begin = end) {
    end = begin + 1;
    if (Chain::MayHave(graph.nodes[begin])) {
      Chain chain;
      chain.Add(graph.nodes[begin]);
      for (; end < graph.nodes.size() && chain.Continues(graph.nodes[end]); ++end) {
        chain.Add(graph.nodes[end]);
      }
    }
    ranges.push_back({begin, end});
  }
  return WithSourcesLate(graph, ranges);
}

std::vector<NodeRange> SingleNodes(const Graph& graph) {
  std::vector<NodeRange> ranges;
  for (size_t n = 0; n < graph.nodes.size(); ++n) ranges.push_back({n, n + 1});
  return ranges;
}

bool AreAlike(const TensorDesc& a, const TensorDesc& b) {
  return a.data_type == b.data_type && LayoutOf(a) == LayoutOf(b);
}

EdgeUses::EdgeUses(const Graph& graph)
    : is_between_(graph.edges.size(), true),
      first_(graph.edges.size(), graph.nodes.size()),
      last_(graph.edges.size()) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const size_t edge : graph.nodes[n].edges) {
      first_[edge] = std::min(first_[edge], n);
      last_[edge] = n;
    }
  }
  for (const size_t edge : graph.inputs) is_between_[edge] = false;
  for (const size_t edge : graph.outputs) is_between_[edge] = false;
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    if (graph.edges[e].constant) is_between_[e] = false;
  }
}

}  // namespace dmlop
