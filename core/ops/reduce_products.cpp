#include "core/ops/element_tile.h"
#include "core/ops/integer_tile.h"
#include "core/ops/product_tile.h"
#include "core/ops/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// By vectors; where that does not decide the rounding, element by element in row-major order.
template <typename T>
void ReduceFloats(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  const auto undecided = ReduceWith<RoughProductTile<T>>(desc, input, output);
  if (undecided.empty()) return;
  using Ordered = ElementTile<reduce::FloatProduct<T>>;
  const ReducePlan plan = PlanFor<Ordered>(desc, input, output, /*any_order=*/false);
  ReduceLoop<Ordered>(plan, input, nullptr, output).RunOutputs(undecided);
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
