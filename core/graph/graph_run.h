// A graph at work: its nodes one after the other, each tensor between them rounded to its type.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace dmlop {

// Where the tensors between nodes lie: in one buffer, each from the node that fills it to the last
// one that reads it.
struct GraphPlan {
  std::vector<size_t> offsets;  // by edge; of no use for inputs, outputs and constants
  size_t size = 0;              // bytes
};

GraphPlan PlanGraph(const Graph& graph);

// What an operator reads and fills, in the order of its slots. Elements of 4 bits are packed.
struct Step {
  std::string_view name;  // of the node
  const OperatorDesc& op;
  std::vector<ConstTensorView> inputs;
  std::vector<TensorView> outputs;
  std::vector<std::string> output_names;  // of their edges
};

// Called before and after each operator runs. Null: nobody looks.
struct StepWatch {
  std::function<void(const Step&)> before = nullptr;
  std::function<void(const Step&)> after = nullptr;
};

void RunStep(const Step& step, const StepWatch& watch);

// The views are those of SlotsOf, by role. Steps come in the order in which they run, with memory
// between them that is there until this returns.
using VisitStep = std::function<void(const Step&)>;
void ForEachStep(const Graph& graph, InputViews inputs, OutputViews outputs,
                 const VisitStep& visit);

void RunGraph(const Graph& graph, InputViews inputs, OutputViews outputs, const StepWatch& watch);

}  // namespace dmlop
