#include "core/engine/reduce/reduce_plan.h"

#include <algorithm>
#include <utility>

namespace dmlop {
namespace {

constexpr int64_t kWork = 1 << 18;     // elements that are worth a piece of work
constexpr int64_t kEnoughPieces = 32;  // of work, for the threads to share
// Iterations that make up for merging the accumulators of a block, and of a fold.
constexpr int64_t kIterationsPerMerge = 1024;
constexpr int64_t kFoldIterations = 64;
constexpr int64_t kFewBlocks = 8;          // of a group that are always worth merging
constexpr int64_t kBatchOfRows = 64;       // outputs
constexpr int64_t kScaleOfRows = 4;        // of batches of whole groups that need not be gathered
constexpr int64_t kLanes = 8;              // groups in a vector, at most
constexpr int64_t kBatchOfGathered = 512;  // columns that are copied to lie side by side
constexpr int64_t kEnoughColumns = 256;    // not worth being copied to become more
constexpr int64_t kNarrow = 16;            // columns, fewer of which are worth being copied
constexpr int64_t kFewElements = 512;     // of a batch, which are worth being copied to become more
constexpr int64_t kFoldedColumns = 1024;  // at most
constexpr int64_t kFoldedRows = 16;       // at least, unless all rows are folded
constexpr int64_t kFoldedRow = 256;       // elements, beyond which its end costs little

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

// The column loops of a batch, found from the innermost one on.
class ColumnBox {
 public:
  explicit ColumnBox(ReducePlan& plan)
      : plan_(plan), kept_(plan.kept.rank()), reduced_(plan.reduced.rank()) {}

  // Takes loops in the order of memory, as long as what they reach is worth a row of columns.
  // Whether reduced loops are among them.
  bool Fold() {
    if (NextIsReduced() && plan_.reduced.sizes.back() > kFoldedRow) return false;
    while (TakeNext()) {
    }
    return folded_ > 1;
  }

  // Takes kept loops only, for `limit` outputs at most.
  void TakeOutputs(int64_t limit) {
    while (kept_ > 0 && limit / batch_ > 0) {
      const int64_t size = plan_.kept.sizes[kept_ - 1];
      TakeKept(std::min(size, limit / batch_));
      if (taken_.sizes.back() < size) return;
    }
  }

  // Makes columns of the loops that were taken, the last thing to do.
  void Apply() {
    plan_.batch = batch_;
    plan_.cut = std::min(kept_, plan_.kept.rank() - 1);
    int64_t column = 1;
    for (size_t i = 0; i < taken_.rank(); ++i) {
      const auto [loop, is_reduced] = Loop(i);
      if (is_reduced) {
        plan_.folded.Push(taken_.sizes[i],
                          {column, plan_.reduced.strides[ReducePlan::kNumber][loop]});
      } else {
        plan_.kept.strides[ReducePlan::kColumn][loop] = column;
      }
      column *= taken_.sizes[i];
    }
    SetColumns();
    DropFolded();
  }

 private:
  enum TakenOperand : size_t { kLoop, kIsReduced, kTakenOperands };

  std::pair<size_t, bool> Loop(size_t i) const {
    return {static_cast<size_t>(taken_.strides[kLoop][i]), taken_.strides[kIsReduced][i] != 0};
  }

  int64_t NextKeptStride() const {
    return kept_ == 0 ? 0 : plan_.kept.strides[ReducePlan::kInput][kept_ - 1];
  }
  int64_t NextReducedStride() const {
    return reduced_ == 0 ? 0 : plan_.reduced.strides[ReducePlan::kElement][reduced_ - 1];
  }
  bool NextIsReduced() const {
    const int64_t kept = NextKeptStride();
    const int64_t reduced = NextReducedStride();
    return kept == 0 || (reduced != 0 && reduced < kept);
  }

  // Takes the loop that is next in memory, or a part of it, which then is the last one.
  bool TakeNext() {
    const bool is_reduced = NextIsReduced();
    const int64_t stride = is_reduced ? NextReducedStride() : NextKeptStride();
    is_packed_ = is_packed_ && stride == columns_;
    if (stride == 0 || (!is_packed_ && columns_ >= kEnoughColumns)) return false;
    const int64_t room = (is_packed_ ? kFoldedColumns : kBatchOfGathered) / columns_;
    return is_reduced ? TakeReducedWithin(room) : TakeKeptWithin(room);
  }

  bool TakeKeptWithin(int64_t room) {
    const int64_t size = plan_.kept.sizes[kept_ - 1];
    if (room > 0) TakeKept(std::min(size, room));
    return size <= room;
  }

  bool TakeReducedWithin(int64_t room) {
    const int64_t size = plan_.reduced.sizes[reduced_ - 1];
    room = std::min(room, plan_.iterations() / folded_ / kFoldIterations);
    if (size <= room) {
      TakeReduced(size);
      return true;
    }
    if (columns_ == 1) return false;
    // Enough rows for the kernels to take together, of whole vectors as far as there is a choice.
    const int64_t count = std::min(room, size / kFoldedRows);
    const int64_t granule = count >= 64 ? 64 : count >= 16 ? 16 : 1;
    if (count > 1) TakeReduced(count - count % granule);
    return false;
  }

  void TakeKept(int64_t count) {
    taken_.Push(count, {static_cast<int64_t>(--kept_), 0});
    batch_ *= count;
    columns_ *= count;
  }

  void TakeReduced(int64_t count) {
    taken_.Push(count, {static_cast<int64_t>(--reduced_), 1});
    folded_ *= count;
    columns_ *= count;
  }

  void SetColumns() {
    LoopNest<ReducePlan::kColumnOperands> columns;
    int64_t place = columns_;
    for (size_t i = taken_.rank(); i-- > 0;) {
      const auto [loop, is_reduced] = Loop(i);
      place /= taken_.sizes[i];
      columns.Push(taken_.sizes[i],
                   {place, is_reduced ? plan_.reduced.strides[ReducePlan::kElement][loop]
                                      : plan_.kept.strides[ReducePlan::kInput][loop]});
    }
    plan_.columns = Merged(columns);
    if (plan_.columns.rank() == 0) plan_.columns.Push(1, {1, 1});
  }

  void DropFolded() {
    for (size_t i = 0; i < taken_.rank(); ++i) {
      const auto [loop, is_reduced] = Loop(i);
      if (!is_reduced) continue;
      const int64_t size = plan_.reduced.sizes[loop];
      const int64_t count = taken_.sizes[i];
      if (count == size) {
        plan_.reduced = Without(plan_.reduced, loop);
        continue;
      }
      const int64_t iterations = (size + count - 1) / count;
      if (size % count != 0) plan_.last_fold = size % count;
      plan_.reduced.sizes[loop] = iterations;
      for (Dims& strides : plan_.reduced.strides) strides[loop] *= count;
    }
    plan_.reduced = AtLeastOneLoop(plan_.reduced);
  }

  ReducePlan& plan_;
  size_t kept_, reduced_;           // loops that are not taken
  LoopNest<kTakenOperands> taken_;  // from the innermost one on
  int64_t columns_ = 1, batch_ = 1, folded_ = 1;
  bool is_packed_ = true;
};

// Rows that are worth turning into columns.
bool HasShortRows(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t row = plan.reduced.sizes.back();
  const int64_t columns = traits.any_order ? plan.output_count : plan.kept.sizes.back();
  return row < traits.short_row && row <= columns && KeptStride(plan) != 0;
}

// How many outputs are worked on together, if nothing is folded.
int64_t BatchFor(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t row = plan.kept.sizes.back();
  const bool is_direct =
      KeptStride(plan) == 1 && row >= kNarrow && row * plan.group_size >= kFewElements;
  if (traits.batch_of_elements > 0 && !is_direct) {
    const int64_t scale = ReducedStride(plan) == 1 ? kScaleOfRows : 1;
    int64_t batch = traits.batch_of_elements * scale / plan.group_size;
    if (batch > kLanes) batch -= batch % kLanes;
    return std::clamp(batch, int64_t{1}, traits.batch_of_columns);
  }
  // Without vectors it is single outputs that are wanted, those that were left unresolved.
  if (!plan.by_columns) return traits.by_vectors ? kBatchOfRows : 1;
  const bool is_gathered = traits.by_vectors && !is_direct;
  const int64_t batch =
      std::min(traits.batch_of_columns, is_gathered ? kBatchOfGathered : traits.batch_of_columns);
  // Columns lie at regular distances, unless they are gathered in any order.
  return is_gathered && traits.any_order ? batch : std::min(batch, row);
}

// Cuts the outputs into batches, and the elements into columns.
void SetBatches(ReducePlan& plan, const ReduceTraits& traits) {
  ColumnBox folded(plan);
  if (traits.any_order && traits.by_vectors && traits.batch_of_elements == 0 && folded.Fold()) {
    plan.by_columns = true;
    return folded.Apply();
  }
  ColumnBox box(plan);
  box.TakeOutputs(BatchFor(plan, traits));
  box.Apply();
}

// Long groups are cut, and so are shorter ones where there are too few batches to share.
int64_t BlockFor(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t iterations = plan.iterations();
  if (traits.batch_of_elements > 0) return iterations;
  int64_t block = std::min(iterations, traits.block);
  // Where their order matters, the parts of a group depend on its size alone.
  if (!traits.any_order) return block;
  const int64_t merged = std::max(iterations / kIterationsPerMerge, kFewBlocks);
  const int64_t blocks = std::clamp(kEnoughPieces / plan.batch_count(), int64_t{1}, merged);
  const int64_t for_pieces = (iterations + blocks - 1) / blocks;
  const int64_t for_work = kWork / plan.column_count() + 1;
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
  plan.by_columns = traits.batch_of_elements > 0 || OutputsLieCloser(plan);
  if (traits.by_vectors && HasShortRows(plan, traits)) plan.by_columns = true;
  SetBatches(plan, traits);
  plan.block = BlockFor(plan, traits);
  return plan;
}

}  // namespace dmlop
