#include "core/ops/reduce_plan.h"

#include <algorithm>

namespace dmlop {
namespace {

constexpr int64_t kWork = 1 << 18;        // elements that are worth a piece of work
constexpr int64_t kEnoughPieces = 32;     // of work, for the threads to share
constexpr int64_t kTurnsPerMerge = 1024;  // that make up for merging the states of a block
constexpr int64_t kFewBlocks = 8;         // of a group that are always worth merging
constexpr int64_t kTileOfRows = 64;       // outputs
constexpr int64_t kScaleOfRows = 4;       // of tiles of whole groups that need not be gathered
constexpr int64_t kTileOfGathered = 512;  // columns that are copied to lie side by side
constexpr int64_t kFoldedColumns = 1024;  // at most
constexpr int64_t kFoldedRows = 16;       // at least, unless all rows are folded
constexpr int64_t kFoldedRow = 256;       // elements, beyond which its end costs little
constexpr int64_t kFoldTurns = 64;        // that make up for merging the states of a fold

template <size_t kOperands>
LoopNest<kOperands> AtLeastOneLoop(LoopNest<kOperands> nest) {
  if (nest.rank() == 0) nest.Push(1, {});
  return nest;
}

// Falling strides of operand `k`, but loops that stay where they are come first.
template <size_t kOperands>
LoopNest<kOperands> InOrderOfMemory(const LoopNest<kOperands>& nest, size_t k) {
  const LoopNest<kOperands> sorted = SortedByStride(nest, k);
  if (sorted.rank() == 0 || sorted.strides[k].back() != 0) return Merged(sorted);
  LoopNest<kOperands> result;
  for (const bool stays : {true, false}) {
    for (size_t d = 0; d < sorted.rank(); ++d) {
      if ((sorted.strides[k][d] == 0) == stays) result.Push(sorted.sizes[d], sorted.Step(d));
    }
  }
  return Merged(result);
}

bool IsReduced(size_t dim, const std::vector<uint32_t>& axes) {
  return std::find(axes.begin(), axes.end(), dim) != axes.end();
}

LoopNest<ReducePlan::kReducedOperands> ReducedLoops(const Layout& input,
                                                    const std::vector<uint32_t>& axes) {
  Dims sizes;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (IsReduced(d, axes)) sizes.push_back(input.sizes[d]);
  }
  const Dims numbers = PackedStrides(sizes);
  LoopNest<ReducePlan::kReducedOperands> loops;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (IsReduced(d, axes)) loops.Push(input.sizes[d], {input.strides[d], numbers[loops.rank()]});
  }
  return Merged(loops);
}

int64_t KeptStride(const ReducePlan& plan) {
  return plan.kept.strides[ReducePlan::kInput].back();
}

int64_t ReducedStride(const ReducePlan& plan) {
  return plan.reduced.strides[ReducePlan::kElement].back();
}

// Whether the innermost loop of all that move is one over the outputs.
bool OutputsLieCloser(const ReducePlan& plan) {
  if (KeptStride(plan) == 0) return false;
  return ReducedStride(plan) == 0 || KeptStride(plan) < ReducedStride(plan);
}

// Takes the innermost reduced loop, or `count` turns of it at a time, into the fold.
void FoldInnermost(int64_t count, int64_t output_step, int64_t step, ReducePlan& plan) {
  Dims& sizes = plan.reduced.sizes;
  int64_t& number_step = plan.reduced.strides[ReducePlan::kNumber].back();
  const int64_t turns = (sizes.back() + count - 1) / count;
  plan.fold = {count, output_step, step, number_step, sizes.back() - (turns - 1) * count};
  if (turns == 1 && sizes.size() > 1) {
    plan.reduced = Without(plan.reduced, sizes.size() - 1);
  } else {
    sizes.back() = turns;
    number_step *= count;
    plan.reduced.strides[ReducePlan::kElement].back() *= count;
  }
}

// Where a row of columns is short and the elements that follow it in memory are of the same groups.
void FoldShortRows(ReducePlan& plan) {
  const int64_t outputs = plan.kept.sizes.back();
  const int64_t elements = plan.reduced.sizes.back();
  const int64_t turns = plan.turns();
  if (KeptStride(plan) == 1 && ReducedStride(plan) == outputs) {
    int64_t count =
        std::min({elements, kFoldedColumns / outputs, std::max(turns / kFoldTurns, int64_t{1})});
    // Enough rows for the kernels to take together.
    if (count < elements) count = std::min(count, std::max(elements / kFoldedRows, int64_t{1}));
    // Whole vectors, as far as there is a choice.
    const int64_t granule = count >= 64 ? 64 : count >= 16 ? 16 : 1;
    const int64_t whole = count == elements ? count : count - count % granule;
    if (whole > 1) FoldInnermost(whole, 1, outputs, plan);
  } else if (ReducedStride(plan) == 1 && KeptStride(plan) == elements && elements <= kFoldedRow &&
             turns / elements >= kFoldTurns) {
    FoldInnermost(elements, elements, 1, plan);
    plan.by_columns = true;
  }
}

// Rows that are worth turning into columns.
bool HasShortRows(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t row = plan.reduced.sizes.back();
  return row < traits.short_row && row <= plan.kept.sizes.back() && KeptStride(plan) != 0;
}

int64_t TileFor(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t outputs = plan.kept.sizes.back();
  if (traits.tile_of_elements > 0 && KeptStride(plan) != 1) {
    const int64_t scale = ReducedStride(plan) == 1 ? kScaleOfRows : 1;
    const int64_t tile = traits.tile_of_elements * scale / plan.group_size;
    return std::clamp(tile, int64_t{1}, std::min(outputs, traits.tile_of_columns));
  }
  // Without vectors it is single outputs that are wanted, those that were left undecided.
  if (!plan.by_columns) return traits.by_vectors ? std::min(outputs, kTileOfRows) : 1;
  if (plan.fold.count > 1) return std::min(outputs, kFoldedColumns / plan.fold.count);
  const bool is_gathered = traits.by_vectors && KeptStride(plan) != 1;
  return std::min({outputs, traits.tile_of_columns, is_gathered ? kTileOfGathered : outputs});
}

// Long groups are cut, and so are shorter ones where there are too few tiles to share.
int64_t BlockFor(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t turns = plan.turns();
  if (traits.tile_of_elements > 0) return turns;
  int64_t block = std::min(turns, traits.block);
  // Where their order matters, the parts of a group depend on its size alone.
  if (!traits.any_order) return block;
  const int64_t merged = std::max(turns / kTurnsPerMerge, kFewBlocks);
  const int64_t blocks = std::clamp(kEnoughPieces / plan.tile_count(), int64_t{1}, merged);
  const int64_t for_pieces = (turns + blocks - 1) / blocks;
  const int64_t for_work = kWork / (plan.tile * plan.fold.count) + 1;
  return std::min(block, std::max(for_pieces, for_work));
}

}  // namespace

std::optional<int64_t> RunStride(const Layout& input, const std::vector<uint32_t>& axes) {
  const auto loops = InOrderOfMemory(ReducedLoops(input, axes), ReducePlan::kElement);
  if (loops.rank() > 1) return std::nullopt;
  return loops.rank() == 0 ? 0 : loops.strides[ReducePlan::kElement].back();
}

ReducePlan PlanReduce(const Layout& input, const Layout& output, const Layout& shift,
                      const std::vector<uint32_t>& axes, const ReduceTraits& traits) {
  LoopNest<ReducePlan::kKeptOperands> kept;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (IsReduced(d, axes)) continue;
    kept.Push(input.sizes[d], {input.strides[d], output.strides[d], shift.strides[d]});
  }

  ReducePlan plan;
  plan.reduced = ReducedLoops(input, axes);
  plan.group_size = Product(plan.reduced.sizes);
  plan.output_count = Product(kept.sizes);
  plan.kept = AtLeastOneLoop(InOrderOfMemory(Merged(kept), ReducePlan::kInput));
  if (traits.any_order) plan.reduced = InOrderOfMemory(plan.reduced, ReducePlan::kElement);
  plan.reduced = AtLeastOneLoop(plan.reduced);
  plan.by_columns = traits.tile_of_elements > 0 || OutputsLieCloser(plan);
  if (traits.tile_of_elements == 0 && traits.any_order && traits.by_vectors) FoldShortRows(plan);
  if (traits.by_vectors && HasShortRows(plan, traits)) plan.by_columns = true;
  plan.tile = TileFor(plan, traits);
  plan.block = BlockFor(plan, traits);
  return plan;
}

}  // namespace dmlop
