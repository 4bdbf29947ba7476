// A graph at work: its nodes one after the other, each tensor between them rounded to its type.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/node_ranges.h"

namespace dmlop {

// Where the tensors between nodes lie: in one buffer, each from the node that fills it to the last
// one that reads it.
struct GraphPlan {
  std::vector<size_t> offsets;  // by edge; of no use for others, and for those within a range
  std::vector<size_t> cleared;  // by edge: its bytes, if they must be zero before they are filled
  size_t size = 0;              // bytes
};

GraphPlan PlanGraph(const Graph& graph, std::span<const NodeRange> ranges);

// What an operator reads and fills, in the order of its slots. Elements of 4 bits are packed.
struct Step : RoleViews {
  std::string_view name;  // of the node
  const OperatorDesc& op;
  std::vector<std::string> output_names;  // of their edges
  // Memory that begins as zeros here, for outputs that leave some of it as it is.
  std::vector<std::span<std::byte>> cleared = {};
};

// Called before and after each operator runs. Null: nobody looks.
struct StepWatch {
  std::function<void(const Step&)> before = nullptr;
  std::function<void(const Step&)> after = nullptr;
  // Element-wise operators need not be told of. Then chains of them run together, and what lies
  // between them is nowhere as a whole.
  bool may_chain = false;
};

void RunStep(const Step& step, const StepWatch& watch);

// The views are those of SlotsOf, by role. Steps come in the order in which they run, with memory
// between them that is there until this returns.
using VisitStep = std::function<void(const Step&)>;
void ForEachStep(const Graph& graph, InputViews inputs, OutputViews outputs,
                 const VisitStep& visit);

void RunGraph(const Graph& graph, InputViews inputs, OutputViews outputs, const StepWatch& watch);

}  // namespace dmlop
