// From a reduce function to its loops. Sources of their own for families of functions keep compile
// times short.
#pragma once

#include <algorithm>
#include <vector>

#include "core/ops/reduce.h"
#include "core/ops/reduce_loop.h"
#include "core/ops/reduce_plan.h"

namespace dmlop {

// SUM, AVERAGE, L1, L2, SUM_SQUARE and LOG_SUM.
void ReduceToSum(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output);
// MULTIPLY.
void ReduceToProduct(const ReduceDesc& desc, const ConstTensorView& input,
                     const TensorView& output);
// LOG_SUM_EXP.
void ReduceToLogSumExp(const ReduceDesc& desc, const ConstTensorView& input,
                       const TensorView& output);

template <typename Tile>
ReducePlan PlanFor(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output,
                   bool any_order) {
  return PlanReduce(input.layout, output.layout, PackedLayout(output.layout.sizes), *desc.axes,
                    TraitsOf<Tile>(any_order));
}

// For functions that do not mind the order of elements. Returns the outputs that Tile could not
// decide.
template <typename Tile>
std::vector<int64_t> ReduceWith(const ReduceDesc& desc, const ConstTensorView& input,
                                const TensorView& output) {
  const ReducePlan plan = PlanFor<Tile>(desc, input, output, /*any_order=*/true);
  return ReduceLoop<Tile>(plan, input, nullptr, output).Run();
}

// The same again for some of the outputs.
template <typename Tile>
std::vector<int64_t> ReduceAgainWith(const ReduceDesc& desc, const ConstTensorView& input,
                                     const TensorView& output, const std::vector<int64_t>& outputs,
                                     bool any_order = true) {
  const ReducePlan plan = PlanFor<Tile>(desc, input, output, any_order);
  return ReduceLoop<Tile>(plan, input, nullptr, output).RunOutputs(outputs);
}

// Whether it is better to choose these outputs than to take all of their neighbours too: they lie
// scattered.
inline bool AreFew(const std::vector<int64_t>& outputs, const TensorView& output) {
  constexpr int64_t kNeighbours = 256;
  constexpr int64_t kFewOf = 16;
  int64_t touched = 0;
  int64_t end = 0;
  for (const int64_t number : outputs) {
    if (number < end) continue;
    touched += kNeighbours;
    end = number / kNeighbours * kNeighbours + kNeighbours;
  }
  touched = std::min(touched, output.layout.element_count());
  return static_cast<int64_t>(outputs.size()) * kFewOf < touched;
}

}  // namespace dmlop
