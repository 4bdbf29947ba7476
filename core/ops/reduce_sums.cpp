#include <algorithm>
#include <vector>

#include "core/ops/integer_accumulators.h"
#include "core/ops/reduce_run.h"
#include "core/ops/sum_accumulators.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

bool AreShort(const ReduceDesc& desc, const Layout& input, const Layout& output) {
  const std::optional<int64_t> stride = RunStride(input, *desc.axes);
  const int64_t most = stride == 1 ? kMaxShortRow : kMaxShortColumn;
  return stride && input.element_count() <= most * output.element_count();
}

// By vectors, where that is enough to decide the rounding. Returns the outputs that it leaves.
template <typename T, typename Ending>
std::vector<int64_t> ReduceByVectors(const ReduceDesc& desc, const ConstTensorView& input,
                                     const TensorView& output, SumTerm term) {
  if constexpr (requires { Ending::kByVectors; }) {
    if (AreShort(desc, input.layout, output.layout)) {
      return ReduceWith<ShortSumAccumulators<T>>(desc, input, output, term, Ending::kByVectors);
    }
  }
  return ReduceWith<ApproximateSumAccumulators<T, Ending>>(desc, input, output, term);
}

// By vectors, and once more exactly where that does not decide the rounding.
template <typename Ending>
void ReduceFloats(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output,
                  SumTerm term) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto unresolved = ReduceByVectors<T, Ending>(desc, input, output, term);
    if (unresolved.empty()) return;
    using Exact = ExactSumAccumulators<T, Ending>;
    ReduceAgainWith<Exact>(desc, input, output, unresolved,
                           TraitsForLeft(TraitsOf<Exact>(), unresolved, output), term);
  });
}

void ReduceAny(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output,
               SumTerm term, IntegerFold fold) {
  if (types::kFloats.Contains(input.type)) {
    return ReduceFloats<reduce::Rounded>(desc, input, output, term);
  }
  VisitDataType(Join<Integers64, Integers32>(), input.type, [&]<typename T>() {
    ReduceWith<IntegerAccumulators<T>>(desc, input, output, fold);
  });
}

}  // namespace

void ReduceToSum(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  switch (*desc.function) {
    case ReduceFunction::kAverage:
      return ReduceFloats<reduce::Averaged>(desc, input, output, SumTerm::kItself);
    case ReduceFunction::kL1:
      return ReduceAny(desc, input, output, SumTerm::kMagnitude, IntegerFold::kSumOfMagnitudes);
    case ReduceFunction::kL2:
      return ReduceFloats<reduce::SquareRooted>(desc, input, output, SumTerm::kSquare);
    case ReduceFunction::kLogSum:
      return ReduceFloats<reduce::Logged>(desc, input, output, SumTerm::kItself);
    case ReduceFunction::kSumSquare:
      return ReduceAny(desc, input, output, SumTerm::kSquare, IntegerFold::kSumOfSquares);
    default:
      return ReduceAny(desc, input, output, SumTerm::kItself, IntegerFold::kSum);
  }
}

}  // namespace dmlop
