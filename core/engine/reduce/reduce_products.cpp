// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/integer_accumulators.h"
#include "core/engine/reduce/product_accumulators.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// At this size, untracked products leave the rounding of a share of 2^-2 (FLOAT32) or 2^-9
// (FLOAT16) of the finite groups unresolved. Most such products are 0 or infinite, which is always
// resolved.
template <typename T>
constexpr int64_t kMostUntracked = std::is_same_v<T, float> ? int64_t{1} << 26 : int64_t{1} << 32;

template <typename Accumulators>
void ReduceInOrder(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output, const std::vector<int64_t>& groups) {
  ReduceAgainWith<Accumulators>(call, input, output, groups,
                                TraitsOf<Accumulators>(/*any_order=*/false));
}

// Multiplies by vectors; if that does not decide the rounding, by vectors that track rounding
// errors, which decides all ties; and at last in an order that does not depend on the layout.
template <typename T>
void ReduceFloats(const ReductionCall& call, const ConstTensorView& input,
                  const TensorView& output) {
  using Approximate = ApproximateProductAccumulators<T>;
  const ReducePlan plan = PlanFor(call, input, output, TraitsOf<Approximate>());
  const auto run = [&](bool tracked, const std::vector<int64_t>* chosen) {
    return RunReduction(plan, {input, output}, MakerOf<Approximate>(tracked), chosen);
  };
  std::vector<int64_t> unresolved;
  if (plan.group_size > kMostUntracked<T>) {
    unresolved = run(/*tracked=*/true, nullptr);
  } else {
    unresolved = run(/*tracked=*/false, nullptr);
    if (!unresolved.empty()) unresolved = run(/*tracked=*/true, &unresolved);
  }
  if (unresolved.empty()) return;
  if (plan.group_size <= ShortProductAccumulators<T>::kMaxElements) {
    ReduceInOrder<ShortProductAccumulators<T>>(call, input, output, unresolved);
  } else {
    ReduceInOrder<OrderedProductAccumulators<T>>(call, input, output, unresolved);
  }
}

}  // namespace

void ReduceToProduct(const ReductionCall& call, const ConstTensorView& input,
                     const TensorView& output) {
  VisitDataType(Join<Floats, Integers64, Integers32>(), input.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      ReduceWith<IntegerAccumulators<T>>(call, input, output, IntegerFold::kProduct);
    } else {
      ReduceFloats<T>(call, input, output);
    }
  });
}

}  // namespace dmlop
