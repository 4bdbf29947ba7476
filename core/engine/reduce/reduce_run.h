// SPDX-License-Identifier: Apache-2.0
// Runs the loops of each reduce function; a source for each family keeps compile times short.
#pragma once

#include <vector>

#include "core/engine/reduce/reduce_loop.h"
#include "core/engine/reduce/reduce_plan.h"
#include "core/exact/functions.h"

namespace dmlop {

// Runs any function. The output has the input's sizes, but size 1 along the axes.
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

// For functions that allow any order of elements. Returns the unresolved outputs.
template <typename A, typename... Parameters>
std::vector<int64_t> ReduceWith(const ReductionCall& call, const ConstTensorView& input,
                                const TensorView& output, Parameters... parameters) {
  const ReducePlan plan = PlanFor(call, input, output, TraitsOf<A>());
  return RunReduction(plan, {input, output}, MakerOf<A>(parameters...));
}

// Computes some of the outputs again.
template <typename A, typename... Parameters>
void ReduceAgainWith(const ReductionCall& call, const ConstTensorView& input,
                     const TensorView& output, const std::vector<int64_t>& outputs,
                     const ReduceTraits& traits, Parameters... parameters) {
  RunReduction(PlanFor(call, input, output, traits), {input, output}, MakerOf<A>(parameters...),
               &outputs);
}

// The traits for outputs that another loop left unresolved: scattered ones are computed one by one.
ReduceTraits TraitsForLeft(ReduceTraits traits, const std::vector<int64_t>& outputs,
                           const TensorView& output);

}  // namespace dmlop
