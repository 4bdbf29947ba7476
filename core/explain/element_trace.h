// SPDX-License-Identifier: Apache-2.0
// Finds what an element depends on through operators that ran one after another, by going back over
// the places in memory that each step filled and read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/explain/data_flow.h"
#include "core/ops/operator.h"
#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// An operator that ran. Its views give the places; their memory is not read.
struct TraceStep {
  std::string name;
  const OperatorDesc* op;
  std::vector<ConstTensorView> inputs, outputs;
  std::vector<std::string> output_names;
  std::vector<std::span<std::byte>> cleared = {};  // before the outputs were filled
};

struct TraceElement {
  ConstTensorView view;  // the view of the whole tensor
  Dims index;
};

// The elements of one tensor that contribute.
struct TracedElements {
  ConstTensorView view;
  int64_t count = 0;
  std::vector<Dims> listed;  // all of them in row-major order, or both ends
};

struct TracedStep {
  size_t number;
  // The inputs include whole regions of which some elements may not be read: very large ones are
  // not followed element by element.
  bool at_most;
  std::vector<size_t> inputs;           // those with elements that contribute
  std::vector<TracedElements> outputs;  // count is 0 for outputs that do not contribute
};

struct Trace {
  std::vector<TracedStep> steps;        // from the last to the first
  std::vector<TracedElements> origins;  // filled by no step; views of the first step that reads
                                        // them
};

// Goes back from an element as it is after all steps.
Trace TraceBack(std::span<const TraceStep> steps, const TraceElement& element, ListLength length);

// Returns the output that last wrote the view's place before step `before`.
struct StepOutput {
  size_t step, output;
};
std::optional<StepOutput> FilledBefore(std::span<const TraceStep> steps, size_t before,
                                       const ConstTensorView& view);

}  // namespace dmlop
