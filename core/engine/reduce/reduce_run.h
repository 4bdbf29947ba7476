// From a reduce function to its loops. Sources of their own for families of functions keep compile
// times short.
#pragma once

#include <vector>

#include "core/engine/reduce/reduce_loop.h"
#include "core/engine/reduce/reduce_plan.h"
#include "core/exact/reduce_function.h"

namespace dmlop {

// Any function. The output has the input's sizes but along the axes, where it has 1.
void Reduce(const ReductionCall& call, const ConstTensorView& input, const TensorView& output);

// MIN and MAX.
void ReduceToValue(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output);
// ARGMIN and ARGMAX.
void ReduceToIndex(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output);
// SUM, AVERAGE, L1, L2, SUM_SQUARE and LOG_SUM.
void ReduceToSum(const ReductionCall& call, const ConstTensorView& input, const TensorView& output);
// MULTIPLY.
void ReduceToProduct(const ReductionCall& call, const ConstTensorView& input,
                     const TensorView& output);
// LOG_SUM_EXP.
void ReduceToLogSumExp(const ReductionCall& call, const ConstTensorView& input,
                       const TensorView& output);

inline ReducePlan PlanFor(const ReductionCall& call, const ConstTensorView& input,
                          const TensorView& output, const ReduceTraits& traits) {
  return PlanReduce(input.layout, output.layout, PackedLayout(output.layout.sizes), call.axes,
                    traits);
}

// For functions that do not mind the order of elements. Returns the outputs that are unresolved.
template <typename A, typename... Parameters>
std::vector<int64_t> ReduceWith(const ReductionCall& call, const ConstTensorView& input,
                                const TensorView& output, Parameters... parameters) {
  const ReducePlan plan = PlanFor(call, input, output, TraitsOf<A>());
  return RunReduction(plan, {input, output}, MakerOf<A>(parameters...));
}

// The same again for some of the outputs.
template <typename A, typename... Parameters>
void ReduceAgainWith(const ReductionCall& call, const ConstTensorView& input,
                     const TensorView& output, const std::vector<int64_t>& outputs,
                     const ReduceTraits& traits, Parameters... parameters) {
  RunReduction(PlanFor(call, input, output, traits), {input, output}, MakerOf<A>(parameters...),
               &outputs);
}

// For outputs that are left from a loop before: where these lie scattered, they are worked on one
// by one.
ReduceTraits TraitsForLeft(ReduceTraits traits, const std::vector<int64_t>& outputs,
                           const TensorView& output);

}  // namespace dmlop
