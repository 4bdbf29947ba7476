// What an element depends on, through operators that ran one after the other: back from step to
// step, over the places in memory that they filled and read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/explain/data_flow.h"
#include "core/ops/operator.h"
#include "core/tensor/dims.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// An operator that ran. Its views say where; nothing is read there.
struct TraceStep {
  std::string name;
  const OperatorDesc* op;
  std::vector<ConstTensorView> inputs, outputs;
  std::vector<std::string> output_names;
  std::vector<std::span<std::byte>> cleared = {};  // before it filled the outputs
};

struct TraceElement {
  ConstTensorView view;  // of its tensor
  Dims index;
};

// Elements of one tensor that matter.
struct TracedElements {
  ConstTensorView view;
  int64_t count = 0;
  std::vector<Dims> listed;  // all in row-major order, or both ends
};

struct TracedStep {
  size_t number;
  // Whether the inputs are those of whole regions, of which not every element may be read: elements
  // side by side that are very many are not followed one by one.
  bool at_most;
  std::vector<size_t> inputs;           // those that have elements of which it depends
  std::vector<TracedElements> outputs;  // count is 0 for those that do not matter
};

struct Trace {
  std::vector<TracedStep> steps;        // from the last to the first
  std::vector<TracedElements> origins;  // which no step filled, as the first that reads them does
};

// Back from an element as it is behind all steps.
Trace TraceBack(std::span<const TraceStep> steps, const TraceElement& element, ListLength length);

// The step and the number of its output that lie, last before step `before`, where the view does.
struct StepOutput {
  size_t step, output;
};
std::optional<StepOutput> FilledBefore(std::span<const TraceStep> steps, size_t before,
                                       const ConstTensorView& view);

}  // namespace dmlop
