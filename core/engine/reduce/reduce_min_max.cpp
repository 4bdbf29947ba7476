// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/min_max_accumulators.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

MinMax WantedBy(ReduceFunction function) {
  const bool is_max = function == ReduceFunction::kMax || function == ReduceFunction::kArgMax;
  return is_max ? MinMax::kMax : MinMax::kMin;
}

// Calls body.operator()<T>(flipped); T is the type that the kernels use for the elements.
template <typename Body>
void VisitOrdered(const ReductionCall& call, DataType type, Body&& body) {
  using Types = Join<Floats, Integers64, Integers32, Integers16, Integers8>;
  VisitDataType(Types(), type, [&]<typename T>() {
    body.template operator()<Ordered<T>>(FlippedBits<T>(WantedBy(call.function)));
  });
}

}  // namespace

void ReduceToValue(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output) {
  VisitOrdered(call, input.type, [&]<typename T>(KeyOf<T> flipped) {
    ReduceWith<MinMaxAccumulators<T>>(call, input, output, flipped);
  });
}

void ReduceToIndex(const ReductionCall& call, const ConstTensorView& input,
                   const TensorView& output) {
  VisitOrdered(call, input.type, [&]<typename T>(KeyOf<T> flipped) {
    // An index is not negative, so its bits are the same in signed and unsigned types.
    if (ByteWidth(output.type) == sizeof(int64_t)) {
      ReduceWith<MinMaxIndexAccumulators<T, int64_t>>(call, input, output, flipped,
                                                      call.takes_last);
    } else {
      ReduceWith<MinMaxIndexAccumulators<T, int32_t>>(call, input, output, flipped,
                                                      call.takes_last);
    }
  });
}

}  // namespace dmlop
