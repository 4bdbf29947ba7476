// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/engine/reduce/integer_accumulators.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/engine/reduce/sum_accumulators.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

bool AreShort(const ReductionCall& call, const Layout& input, const Layout& output) {
  const std::optional<int64_t> stride = RunStride(input, call.axes);
  const int64_t most = stride == 1 ? kMaxShortRow : kMaxShortColumn;
  return stride && input.element_count() <= most * output.element_count();
}

// Sums by vectors and returns the outputs whose rounding that does not decide.
template <typename T, typename Finalizer>
std::vector<int64_t> ReduceByVectors(const ReductionCall& call, const ConstTensorView& input,
                                     const TensorView& output, SumMap map) {
  if constexpr (requires { Finalizer::kByVectors; }) {
    if (AreShort(call, input.layout, output.layout)) {
      return ReduceWith<ShortSumAccumulators<T>>(call, input, output, map, Finalizer::kByVectors);
    }
  }
  return ReduceWith<ApproximateSumAccumulators<T, Finalizer>>(call, input, output, map);
}

// Sums by vectors, and again exactly if that does not decide the rounding.
template <typename Finalizer>
void ReduceFloats(const ReductionCall& call, const ConstTensorView& input, const TensorView& output,
                  SumMap map) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto unresolved = ReduceByVectors<T, Finalizer>(call, input, output, map);
    if (unresolved.empty()) return;
    using Exact = ExactSumAccumulators<T, Finalizer>;
    ReduceAgainWith<Exact>(call, input, output, unresolved,
                           TraitsForLeft(TraitsOf<Exact>(), unresolved, output), map);
  });
}

void ReduceAny(const ReductionCall& call, const ConstTensorView& input, const TensorView& output,
               SumMap map, IntegerFold fold) {
  if (IsFloat(input.type)) {
    return ReduceFloats<reduce::Rounded>(call, input, output, map);
  }
  VisitDataType(Join<Integers64, Integers32>(), input.type, [&]<typename T>() {
    ReduceWith<IntegerAccumulators<T>>(call, input, output, fold);
  });
}

}  // namespace

void ReduceToSum(const ReductionCall& call, const ConstTensorView& input,
                 const TensorView& output) {
  switch (call.function) {
    case ReduceFunction::kAverage:
      return ReduceFloats<reduce::Averaged>(call, input, output, SumMap::kItself);
    case ReduceFunction::kL1:
      return ReduceAny(call, input, output, SumMap::kMagnitude, IntegerFold::kSumOfMagnitudes);
    case ReduceFunction::kL2:
      return ReduceFloats<reduce::SquareRooted>(call, input, output, SumMap::kSquare);
    case ReduceFunction::kLogSum:
      return ReduceFloats<reduce::Logged>(call, input, output, SumMap::kItself);
    case ReduceFunction::kSumSquare:
      return ReduceAny(call, input, output, SumMap::kSquare, IntegerFold::kSumOfSquares);
    default:
      return ReduceAny(call, input, output, SumMap::kItself, IntegerFold::kSum);
  }
}

}  // namespace dmlop
