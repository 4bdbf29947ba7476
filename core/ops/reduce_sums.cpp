#include <algorithm>
#include <vector>

#include "core/ops/integer_tile.h"
#include "core/ops/reduce_run.h"
#include "core/ops/sum_tiles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Sums of few or equal elements often lie halfway between two numbers. Longer groups are not worth
// the time that their ranges take.
constexpr int64_t kFewElements = 64;

bool HasManyTies(const ReducePlan& plan) {
  const Dims& strides = plan.reduced.strides[ReducePlan::kElement];
  return plan.group_size <= kFewElements ||
         std::find(strides.begin(), strides.end(), 0) != strides.end();
}

template <typename T, SumTerm kTerm, typename Ending>
std::vector<int64_t> ReduceRoughly(const ReduceDesc& desc, const ConstTensorView& input,
                                   const TensorView& output) {
  using Tile = RoughSumTile<T, kTerm, Ending, false>;
  const ReducePlan plan = PlanFor<Tile>(desc, input, output, /*any_order=*/true);
  if constexpr (kMayBeExact<T, kTerm>) {
    using Ranged = RoughSumTile<T, kTerm, Ending, true>;
    if (HasManyTies(plan)) return ReduceLoop<Ranged>(plan, input, nullptr, output).Run();
  }
  return ReduceLoop<Tile>(plan, input, nullptr, output).Run();
}

// By vectors, and once more exactly where that does not decide the rounding.
template <SumTerm kTerm, typename Ending>
void ReduceFloats(const ReduceDesc& desc, const ConstTensorView& input, const TensorView& output) {
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    const auto undecided = ReduceRoughly<T, kTerm, Ending>(desc, input, output);
    if (undecided.empty()) return;
    using Exact = ExactSumTile<T, kTerm, Ending>;
    constexpr int64_t kFewOf = 16;
    const bool few = std::ssize(undecided) * kFewOf < output.layout.element_count();
    const ReducePlan plan = PlanReduce(
        input.layout, output.layout, PackedLayout(output.layout.sizes), *desc.axes,
        {/*any_order=*/true, Exact::kByVectors, few ? Exact::kColumns : Exact::kManyColumns});
    ReduceLoop<Exact>(plan, input, nullptr, output).RunOutputs(undecided);
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
