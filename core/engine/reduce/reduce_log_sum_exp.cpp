// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>
#include <vector>

#include "core/engine/reduce/exp_sum_accumulators.h"
#include "core/engine/reduce/fixed_exp_sum_accumulators.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Writes the outputs of groups whose maxima are NaN or infinite: the maximum is the result. Returns
// the other outputs.
template <typename T>
std::vector<int64_t> SettleByMaxima(const ReducePlan& plan, const std::vector<int64_t>& outputs,
                                    const double* maxima, T* results) {
  std::vector<int64_t> others;
  std::optional<Walk<ReducePlan::kOuterOperands>> place;
  int64_t last = 0;
  for (const int64_t output : outputs) {
    if (place && output == last + 1) {
      place->Next();
    } else {
      place.emplace(plan.outer, output);
    }
    last = output;
    const double max = maxima[place->offset(ReducePlan::kShift)];
    if (std::isfinite(max)) {
      others.push_back(output);
    } else {
      results[place->offset(ReducePlan::kOutput)] = RoundOnce<T>(max);
    }
  }
  return others;
}

// Computes the maxima in one pass and, in a second one, sums that do not depend on the order.
template <typename T>
void ReduceInTwoPasses(const ReductionCall& call, const ConstTensorView& input,
                       const TensorView& output, const std::vector<int64_t>& outputs) {
  Buffer shift(static_cast<size_t>(output.layout.element_count()) * sizeof(double));
  const TensorView shift_view{shift.data(), DataType::kFloat64, PackedLayout(output.layout.sizes)};
  using Fixed = FixedExpSumAccumulators<T>;
  const ReducePlan plan =
      PlanFor(call, input, output, TraitsForLeft(TraitsOf<Fixed>(), outputs, output));
  ReducePlan shift_plan = plan;
  shift_plan.outer.strides[ReducePlan::kOutput] = plan.outer.strides[ReducePlan::kShift];
  RunReduction(shift_plan, {input, shift_view}, MakerOf<ExpShiftAccumulators<T>>(), &outputs);
  const double* maxima = shift_view.elements<double>();
  const auto others = SettleByMaxima(plan, outputs, maxima, output.elements<T>());
  RunReduction(plan, {input, output, maxima}, MakerOf<Fixed>(), &others);
}

}  // namespace

// Makes one pass in any order, and two more for groups whose rounding it does not decide.
void ReduceToLogSumExp(const ReductionCall& call, const ConstTensorView& input,
                       const TensorView& output) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto unresolved = ReduceWith<ExpSumAccumulators<T>>(call, input, output);
    if (!unresolved.empty()) ReduceInTwoPasses<T>(call, input, output, unresolved);
  });
}

}  // namespace dmlop
