#include <cmath>
#include <optional>
#include <vector>

#include "core/ops/exp_sum_tile.h"
#include "core/ops/fixed_exp_sum_tile.h"
#include "core/ops/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Gives the outputs of groups whose maxima are NaN or infinite, which are their results. Returns
// the others.
template <typename T>
std::vector<int64_t> SettleByMaxima(const ReducePlan& plan, const std::vector<int64_t>& outputs,
                                    const double* maxima, T* results) {
  std::vector<int64_t> others;
  std::optional<Walk<ReducePlan::kKeptOperands>> place;
  int64_t last = 0;
  for (const int64_t output : outputs) {
    if (place && output == last + 1) {
      place->Next();
    } else {
      place.emplace(plan.kept, output);
    }
    last = output;
    const double max = maxima[place->offset(ReducePlan::kShift)];
    if (std::isfinite(max)) {
      others.push_back(output);
    } else {
      results[place->offset(ReducePlan::kOutput)] = RoundOnce<T>(max, 0.0);
    }
  }
  return others;
}

// In a pass for the maxima, and one for sums that come to the same in any order.
template <typename T, bool kMany>
void ReduceInTwoPasses(const ReduceDesc& desc, const ConstTensorView& input,
                       const TensorView& output, const std::vector<int64_t>& outputs) {
  using Shift = ExpShiftTile<T, kMany>;
  using Fixed = FixedExpSumTile<T, kMany>;
  Buffer shift(static_cast<size_t>(output.layout.element_count()) * sizeof(double));
  const TensorView shift_view{shift.data(), DataType::kFloat64, PackedLayout(output.layout.sizes)};
  const ReducePlan plan = PlanFor<Fixed>(desc, input, output, /*any_order=*/true);
  ReducePlan shift_plan = plan;
  shift_plan.kept.strides[ReducePlan::kOutput] = plan.kept.strides[ReducePlan::kShift];
  ReduceLoop<Shift>(shift_plan, input, nullptr, shift_view).RunOutputs(outputs);
  const double* maxima = shift_view.elements<double>();
  const auto others = SettleByMaxima(plan, outputs, maxima, output.elements<T>());
  ReduceLoop<Fixed>(plan, input, maxima, output).RunOutputs(others);
}

}  // namespace

// In one pass that minds no order; where that does not decide the rounding, in two.
void ReduceToLogSumExp(const ReduceDesc& desc, const ConstTensorView& input,
                       const TensorView& output) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto undecided = ReduceWith<ExpSumTile<T>>(desc, input, output);
    if (undecided.empty()) return;
    if (AreFew(undecided, output)) {
      ReduceInTwoPasses<T, false>(desc, input, output, undecided);
    } else {
      ReduceInTwoPasses<T, true>(desc, input, output, undecided);
    }
  });
}

}  // namespace dmlop
