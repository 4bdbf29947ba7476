// SPDX-License-Identifier: Apache-2.0
// Runs a graph: its nodes one after another, each tensor between them rounded to its type.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace dmlop {

// --- nodes that run together ---------------------------------------------------------------------

// Element-wise chains run together, as their tensors in between need not go through memory.

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

// The placement of the tensors between nodes: all in one buffer, each from the node that fills it
// to the last one that reads it.
struct GraphPlan {
  std::vector<size_t> offsets;  // by edge; unused for other edges, and for those within a range
  std::vector<size_t> cleared;  // by edge: number of bytes to be zeroed before it is filled
  size_t size = 0;              // in bytes
};

GraphPlan PlanGraph(const Graph& graph, std::span<const NodeRange> ranges);

// The tensors that an operator reads and fills, by its slots. Elements of 4 bits are packed.
struct Step : RoleViews {
  std::string_view name;  // name of the node
  const OperatorDesc& op;
  std::vector<std::string> output_names;  // names of their edges
  // Memory to be cleared here, for outputs that are not written entirely.
  std::vector<std::span<std::byte>> cleared = {};
};

// Functions that are called before and after each operator runs, unless they are null.
struct StepWatch {
  std::function<void(const Step&)> before = nullptr;
  std::function<void(const Step&)> after = nullptr;
  // No further step runs once this returns false.
  std::function<bool()> goes_on = nullptr;
  // If true, element-wise operators need not be reported. Chains of them may then run together,
  // without whole tensors in between.
  bool may_chain = false;
};

void RunStep(const Step& step, const StepWatch& watch);

// The views are those of SlotsOf, by role. Steps come in the order in which they run; the memory
// between them is valid until this returns.
using VisitStep = std::function<void(const Step&)>;
void ForEachStep(const Graph& graph, InputViews inputs, OutputViews outputs,
                 const VisitStep& visit);

void RunGraph(const Graph& graph, InputViews inputs, OutputViews outputs, const StepWatch& watch);

// --- memory of mapped files ----------------------------------------------------------------------

// Gives back the pages within bytes of a mapped file, which are read from it again if needed.
void ReleasePages(std::span<const std::byte> bytes);

// --- places in a buffer --------------------------------------------------------------------------

// Assigns places in one buffer to tensors that are not all needed at once.
class BufferPlan {
 public:
  // Returns the offset of the lowest place that is free.
  size_t Take(size_t bytes);

  // Frees a place.
  void Release(size_t offset);

  // Returns the bytes that all places need. Saturates; the places are then useless.
  size_t size() const { return size_; }

 private:
  size_t TakeHole(size_t length);

  std::map<size_t, size_t> taken_;  // from begin to end
  std::map<size_t, size_t> holes_;  // the same of free places below size_; no two touch
  size_t size_ = 0;
};

}  // namespace dmlop
