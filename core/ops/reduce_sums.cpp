#include <algorithm>
#include <vector>

#include "core/ops/integer_tile.h"
#include "core/ops/reduce_run.h"
#include "core/ops/sum_tiles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

bool AreShort(const ReduceDesc& desc, const Layout& input, const Layout& output) {
  const std::optional<int64_t> stride = RunStride(input, *desc.axes);
  const int64_t most = stride == 1 ? kMaxShortRow : kMaxShortColumn;
  return stride && input.element_count() <= most * output.element_count();
}

// By vectors, where that is enough to decide the rounding. Returns the outputs that it leaves.
template <typename T, SumTerm kTerm, typename Ending>
std::vector<int64_t> ReduceByVectors(const ReduceDesc& desc, const ConstTensorView& input,
                                     const TensorView& output) {
  if constexpr (requires { Ending::kByVectors; }) {
    if (AreShort(desc, input.layout, output.layout)) {
      return ReduceWith<ShortSumTile<T, kTerm, Ending::kByVectors>>(desc, input, output);
    }
  }
  return ReduceWith<RoughSumTile<T, kTerm, Ending>>(desc, input, output);
}

// By vectors, and once more exactly where that does not decide the rounding.
template <SumTerm kTerm, typename Ending>
void ReduceFloats(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto undecided = ReduceByVectors<T, kTerm, Ending>(desc, input, output);
    if (undecided.empty()) return;
    if (AreFew(undecided, output)) {
      ReduceAgainWith<ExactSumTile<T, kTerm, Ending, false>>(desc, input, output, undecided);
    } else {
      ReduceAgainWith<ExactSumTile<T, kTerm, Ending, true>>(desc, input, output, undecided);
    }
  });
}

template <SumTerm kTerm, IntegerFold kFold>
void ReduceAny(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  if (types::kFloats.Contains(input.type)) {
    return ReduceFloats<kTerm, reduce::Rounded>(desc, input, output);
  }
  VisitDataType(Join<Integers64, Integers32>(), input.type,
                [&]<typename T>() { ReduceWith<IntegerTile<T, kFold>>(desc, input, output); });
}

}  // namespace

void ReduceToSum(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  switch (*desc.function) {
    case ReduceFunction::kAverage:
      return ReduceFloats<SumTerm::kItself, reduce::Averaged>(desc, input, output);
    case ReduceFunction::kL1:
      return ReduceAny<SumTerm::kMagnitude, IntegerFold::kSumOfMagnitudes>(desc, input, output);
    case ReduceFunction::kL2:
      return ReduceFloats<SumTerm::kSquare, reduce::SquareRooted>(desc, input, output);
    case ReduceFunction::kLogSum:
      return ReduceFloats<SumTerm::kItself, reduce::Logged>(desc, input, output);
    case ReduceFunction::kSumSquare:
      return ReduceAny<SumTerm::kSquare, IntegerFold::kSumOfSquares>(desc, input, output);
    default:
      return ReduceAny<SumTerm::kItself, IntegerFold::kSum>(desc, input, output);
  }
}

}  // namespace dmlop
