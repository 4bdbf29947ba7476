#include "core/ops/min_max_accumulators.h"
#include "core/ops/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

MinMax WantedBy(ReduceFunction function) {
  const bool is_max = function == ReduceFunction::kMax || function == ReduceFunction::kArgMax;
  return is_max ? MinMax::kMax : MinMax::kMin;
}

// Calls body.operator()<T>(flipped) for the type T that kernels take elements as.
template <typename Body>
void VisitOrdered(const ReduceDesc& desc, DataType type, Body&& body) {
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), type, [&]<typename T>() {
    body.template operator()<Ordered<T>>(FlippedBits<T>(WantedBy(*desc.function)));
  });
}

}  // namespace

void ReduceToValue(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  VisitOrdered(desc, input.type, [&]<typename T>(KeyOf<T> flipped) {
    ReduceWith<MinMaxAccumulators<T>>(desc, input, output, flipped);
  });
}

void ReduceToIndex(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  VisitOrdered(desc, input.type, [&]<typename T>(KeyOf<T> flipped) {
    // An index is not negative: its bits are those of either sign's type.
    if (ByteWidth(output.type) == sizeof(int64_t)) {
      ReduceWith<MinMaxIndexAccumulators<T, int64_t>>(desc, input, output, flipped);
    } else {
      ReduceWith<MinMaxIndexAccumulators<T, int32_t>>(desc, input, output, flipped);
    }
  });
}

}  // namespace dmlop
