#include "core/ops/reduce_plan.h"

#include <algorithm>

namespace dmlop {
namespace {

constexpr int64_t kBlock = 1 << 16;  // elements
constexpr int64_t kTileOfRows = 64;  // outputs

template <size_t kOperands>
LoopNest<kOperands> AtLeastOneLoop(LoopNest<kOperands> nest) {
  if (nest.rank() == 0) nest.Push(1, {});
  return nest;
}

}  // namespace

ReducePlan PlanReduce(const Layout& input, const Layout& output, const Layout& shift,
                      const std::vector<uint32_t>& axes, const ReduceTraits& traits) {
  LoopNest<ReducePlan::kKeptOperands> kept;
  LoopNest<ReducePlan::kReducedOperands> reduced;
  Dims reduced_sizes;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      kept.Push(input.sizes[d], {input.strides[d], output.strides[d], shift.strides[d]});
    } else {
      reduced_sizes.push_back(input.sizes[d]);
    }
  }
  const Dims numbers = PackedStrides(reduced_sizes);
  for (size_t d = 0; d < input.rank(); ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) continue;
    reduced.Push(input.sizes[d], {input.strides[d], numbers[reduced.rank()]});
  }

  ReducePlan plan;
  plan.group_size = Product(reduced_sizes);
  plan.output_count = Product(kept.sizes);
  plan.kept = AtLeastOneLoop(Merged(SortedByStride(Merged(kept), ReducePlan::kInput)));
  if (traits.any_order) reduced = SortedByStride(Merged(reduced), ReducePlan::kElement);
  plan.reduced = AtLeastOneLoop(Merged(reduced));
  plan.by_columns = plan.kept.strides[ReducePlan::kInput].back() <
                    plan.reduced.strides[ReducePlan::kElement].back();
  plan.tile =
      std::min(plan.kept.sizes.back(), plan.by_columns ? traits.tile_of_columns : kTileOfRows);
  plan.block = std::min(plan.group_size, kBlock);
  return plan;
}

}  // namespace dmlop
