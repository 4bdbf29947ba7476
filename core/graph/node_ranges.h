// SPDX-License-Identifier: Apache-2.0
// Finds nodes of a graph that run together, and runs them: element-wise chains, whose tensors in
// between need not go through memory.
#pragma once

#include <cstddef>
#include <vector>

#include "core/graph/graph.h"

namespace dmlop {

// The nodes [begin, end).
struct NodeRange {
  size_t begin, end;

  size_t size() const { return end - begin; }
};

// Returns ranges that contain every node once, in the order in which they run: the graph's, but
// that nodes which read nothing come just before the first that reads what they fill. In a range
// with several, each node computes an element from the corresponding ones, and reads what others of
// the range compute exactly as it was written.
std::vector<NodeRange> ChainsOf(const Graph& graph);

// Returns ranges of one node each.
std::vector<NodeRange> SingleNodes(const Graph& graph);

// Returns whether a tensor filled with one desc is read as a whole with the other.
bool AreAlike(const TensorDesc& a, const TensorDesc& b);

// The nodes that use each edge, by number.
class EdgeUses {
 public:
  explicit EdgeUses(const Graph& graph);

  // Returns whether the edge is neither an input, an output nor a constant of the graph.
  bool IsBetween(size_t edge) const { return is_between_[edge]; }

  // Returns the last node that reads or fills the edge.
  size_t Last(size_t edge) const { return last_[edge]; }

  // Returns whether only nodes of the range, including the one that fills it, use the edge.
  bool IsWithin(size_t edge, const NodeRange& range) const {
    return IsBetween(edge) && first_[edge] >= range.begin && last_[edge] < range.end;
  }

 private:
  std::vector<bool> is_between_;
  std::vector<size_t> first_, last_;
};

// Runs an element-wise chain, a range that ChainsOf returned: all of its nodes on a part of the
// tensors that fits into the caches, then on the next one. Every tensor in between is rounded as if
// it existed as a whole. `uses` are those of the graph; `places` is where the bytes of edges begin,
// except those within the range.
void RunChain(const Graph& graph, const EdgeUses& uses, const NodeRange& range,
              const std::vector<std::byte*>& places);

}  // namespace dmlop
