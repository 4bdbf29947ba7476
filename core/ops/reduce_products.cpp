#include "core/ops/integer_tile.h"
#include "core/ops/product_tile.h"
#include "core/ops/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Untracked, the share of finite groups of so many elements whose rounding is in doubt is 2^-2 of
// FLOAT32 and 2^-9 of FLOAT16. Most products of so many are 0 or infinite, which is never in doubt.
template <typename T>
constexpr int64_t kMostUntracked = std::is_same_v<T, float> ? int64_t{1} << 26 : int64_t{1} << 32;

// By vectors; where that does not decide the rounding, by vectors that track their rounding errors,
// which decides all ties; at last in orders that the layout does not change.
template <typename T>
void ReduceFloats(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  using Tracked = RoughProductTile<T, true>;
  const ReducePlan plan = PlanFor<Tracked>(desc, input, output, /*any_order=*/true);
  ReduceLoop<Tracked> tracked(plan, input, nullptr, output);
  std::vector<int64_t> undecided;
  if (plan.group_size > kMostUntracked<T>) {
    undecided = tracked.Run();
  } else {
    undecided = ReduceWith<RoughProductTile<T, false>>(desc, input, output);
    if (!undecided.empty()) undecided = tracked.RunOutputs(undecided);
  }
  if (undecided.empty()) return;
  if (plan.group_size <= ShortProductTile<T>::kMaxElements) {
    ReduceAgainWith<ShortProductTile<T>>(desc, input, output, undecided, /*any_order=*/false);
  } else {
    ReduceAgainWith<OrderedProductTile<T>>(desc, input, output, undecided, /*any_order=*/false);
  }
}

}  // namespace

void ReduceToProduct(const ReduceDesc& desc, const ConstTensorView& input,
                     const TensorView& output) {
  VisitDataType(Join<Floats, Integers64, Integers32>(), input.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      ReduceWith<IntegerTile<T, IntegerFold::kProduct>>(desc, input, output);
    } else {
      ReduceFloats<T>(desc, input, output);
    }
  });
}

}  // namespace dmlop
