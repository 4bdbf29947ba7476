// Nodes of a graph that run together: element-wise chains, whose tensors in between need not pass
// memory.
#pragma once

#include <vector>

#include "core/graph/graph.h"

namespace dmlop {

// Nodes [begin, end).
struct NodeRange {
  size_t begin, end;

  size_t size() const { return end - begin; }
};

// Every node in one range, in order. Those of a range with several compute each element from those
// at its place, and take what others of the range compute as it was left.
std::vector<NodeRange> ChainsOf(const Graph& graph);

// Each node by itself.
std::vector<NodeRange> SingleNodes(const Graph& graph);

// Whether a tensor that one of them fills is what the other one reads, and all of it.
bool AreAlike(const TensorDesc& a, const TensorDesc& b);

// What becomes of the edges, by their numbers.
class EdgeUses {
 public:
  explicit EdgeUses(const Graph& graph);

  // Whether the edge is none of the graph's inputs, outputs and constants.
  bool IsBetween(size_t edge) const { return is_between_[edge]; }

  // The last node that reads or fills it.
  size_t Last(size_t edge) const { return last_[edge]; }

  // Whether only nodes of the range, which has the one that fills it, know the edge.
  bool IsWithin(size_t edge, const NodeRange& range) const {
    return IsBetween(edge) && first_[edge] >= range.begin && last_[edge] < range.end;
  }

 private:
  std::vector<bool> is_between_;
  std::vector<size_t> first_, last_;
};

}  // namespace dmlop
