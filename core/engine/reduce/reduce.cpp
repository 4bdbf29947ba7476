// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/reduce_run.h"

namespace dmlop {

void Reduce(const ReductionCall& call, const ConstTensorView& input, const TensorView& output) {
  switch (call.function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
      return ReduceToIndex(call, input, output);
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return ReduceToValue(call, input, output);
    case ReduceFunction::kMultiply:
      return ReduceToProduct(call, input, output);
    case ReduceFunction::kLogSumExp:
      return ReduceToLogSumExp(call, input, output);
    case ReduceFunction::kAverage:
    case ReduceFunction::kL1:
    case ReduceFunction::kL2:
    case ReduceFunction::kLogSum:
    case ReduceFunction::kSum:
    case ReduceFunction::kSumSquare:
      return ReduceToSum(call, input, output);
  }
}

}  // namespace dmlop
