// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/reduce_plan.h"

#include <algorithm>
#include <utility>

namespace dmlop {
namespace {

constexpr int64_t kWork = 1 << 18;     // elements that justify a piece of work
constexpr int64_t kEnoughPieces = 32;  // pieces that suffice for the threads to share
// Iterations that pay for merging the accumulators of a block, and of a fold.
constexpr int64_t kIterationsPerMerge = 1024;
constexpr int64_t kFoldIterations = 64;
constexpr int64_t kFewBlocks = 8;         // merging a group's blocks always pays for so few
constexpr int64_t kBatchOfRows = 64;      // outputs in a batch
constexpr int64_t kScaleOfRows = 4;       // for batches of whole groups that need no packing
constexpr int64_t kLanes = 8;             // most groups in a vector
constexpr int64_t kBatchOfPacked = 512;   // most columns that are copied side by side
constexpr int64_t kEnoughColumns = 256;   // columns that need no copying to become more
constexpr int64_t kNarrow = 16;           // fewer columns are worth copying
constexpr int64_t kFewElements = 512;     // fewer elements of a batch are worth copying
constexpr int64_t kFoldedColumns = 1024;  // most columns after folding
constexpr int64_t kFoldedRows = 16;       // least rows after folding, unless all are folded
constexpr int64_t kFoldedRow = 256;       // elements beyond which the end of a row costs little

// Orders the loops by falling strides of operand `k`, with loops of stride 0 first.
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

LoopNest<ReducePlan::kInnerOperands> InnerLoops(const Layout& input,
                                                const std::vector<uint32_t>& axes) {
  Dims sizes;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (IsReduced(d, axes)) sizes.push_back(input.sizes[d]);
  }
  const Dims numbers = PackedStrides(sizes);
  LoopNest<ReducePlan::kInnerOperands> loops;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (IsReduced(d, axes)) loops.Push(input.sizes[d], {input.strides[d], numbers[loops.rank()]});
  }
  return Merged(loops);
}

int64_t OuterStride(const ReducePlan& plan) {
  return plan.outer.strides[ReducePlan::kInput].back();
}

int64_t InnerStride(const ReducePlan& plan) {
  return plan.inner.strides[ReducePlan::kElement].back();
}

// True if the innermost loop with a stride is one over the outputs.
bool OutputsLieCloser(const ReducePlan& plan) {
  if (OuterStride(plan) == 0) return false;
  return InnerStride(plan) == 0 || OuterStride(plan) < InnerStride(plan);
}

// Chooses the column loops of a batch, beginning with the innermost one.
class ColumnBox {
 public:
  explicit ColumnBox(ReducePlan& plan)
      : plan_(plan), outer_(plan.outer.rank()), inner_(plan.inner.rank()) {}

  // Takes loops in memory order while a row of columns pays. Returns whether any is an inner loop.
  bool Fold() {
    if (NextIsInner() && plan_.inner.sizes.back() > kFoldedRow) return false;
    while (TakeNext()) {
    }
    return folded_ > 1;
  }

  // Takes outer loops only, for at most `limit` outputs.
  void TakeOutputs(int64_t limit) {
    while (outer_ > 0 && limit / batch_ > 0) {
      const int64_t size = plan_.outer.sizes[outer_ - 1];
      TakeOuter(std::min(size, limit / batch_));
      if (taken_.sizes.back() < size) return;
    }
  }

  // Turns the loops taken into columns; must be called last.
  void Apply() {
    plan_.batch = batch_;
    plan_.cut = std::min(outer_, plan_.outer.rank() - 1);
    int64_t column = 1;
    for (size_t i = 0; i < taken_.rank(); ++i) {
      const auto [loop, is_inner] = Loop(i);
      if (is_inner) {
        plan_.folded.Push(taken_.sizes[i],
                          {column, plan_.inner.strides[ReducePlan::kNumber][loop]});
      } else {
        plan_.outer.strides[ReducePlan::kColumn][loop] = column;
      }
      column *= taken_.sizes[i];
    }
    SetColumns();
    DropFolded();
  }

 private:
  enum TakenOperand : size_t { kLoop, kIsInner, kTakenOperands };

  std::pair<size_t, bool> Loop(size_t i) const {
    return {static_cast<size_t>(taken_.strides[kLoop][i]), taken_.strides[kIsInner][i] != 0};
  }

  int64_t NextOuterStride() const {
    return outer_ == 0 ? 0 : plan_.outer.strides[ReducePlan::kInput][outer_ - 1];
  }
  int64_t NextInnerStride() const {
    return inner_ == 0 ? 0 : plan_.inner.strides[ReducePlan::kElement][inner_ - 1];
  }
  bool NextIsInner() const {
    const int64_t outer = NextOuterStride();
    const int64_t inner = NextInnerStride();
    return outer == 0 || (inner != 0 && inner < outer);
  }

  // Takes the next loop in memory or a part of it, after which it is the last one.
  bool TakeNext() {
    const bool is_inner = NextIsInner();
    const int64_t stride = is_inner ? NextInnerStride() : NextOuterStride();
    is_packed_ = is_packed_ && stride == columns_;
    if (stride == 0 || (!is_packed_ && columns_ >= kEnoughColumns)) return false;
    const int64_t room = (is_packed_ ? kFoldedColumns : kBatchOfPacked) / columns_;
    return is_inner ? TakeInnerWithin(room) : TakeOuterWithin(room);
  }

  bool TakeOuterWithin(int64_t room) {
    const int64_t size = plan_.outer.sizes[outer_ - 1];
    if (room > 0) TakeOuter(std::min(size, room));
    return size <= room;
  }

  bool TakeInnerWithin(int64_t room) {
    const int64_t size = plan_.inner.sizes[inner_ - 1];
    room = std::min(room, plan_.iterations() / folded_ / kFoldIterations);
    if (size <= room) {
      TakeInner(size);
      return true;
    }
    if (columns_ == 1) return false;
    // Leaves enough rows for the kernels to take together; rows are whole vectors if possible.
    const int64_t count = std::min(room, size / kFoldedRows);
    const int64_t granule = count >= 64 ? 64 : count >= 16 ? 16 : 1;
    if (count > 1) TakeInner(count - count % granule);
    return false;
  }

  void TakeOuter(int64_t count) {
    taken_.Push(count, {static_cast<int64_t>(--outer_), 0});
    batch_ *= count;
    columns_ *= count;
  }

  void TakeInner(int64_t count) {
    taken_.Push(count, {static_cast<int64_t>(--inner_), 1});
    folded_ *= count;
    columns_ *= count;
  }

  void SetColumns() {
    LoopNest<ReducePlan::kColumnOperands> columns;
    int64_t place = columns_;
    for (size_t i = taken_.rank(); i-- > 0;) {
      const auto [loop, is_inner] = Loop(i);
      place /= taken_.sizes[i];
      columns.Push(taken_.sizes[i],
                   {place, is_inner ? plan_.inner.strides[ReducePlan::kElement][loop]
                                    : plan_.outer.strides[ReducePlan::kInput][loop]});
    }
    plan_.columns = Merged(columns);
    if (plan_.columns.rank() == 0) plan_.columns.Push(1, {1, 1});
  }

  void DropFolded() {
    for (size_t i = 0; i < taken_.rank(); ++i) {
      const auto [loop, is_inner] = Loop(i);
      if (!is_inner) continue;
      const int64_t size = plan_.inner.sizes[loop];
      const int64_t count = taken_.sizes[i];
      if (count == size) {
        plan_.inner = Without(plan_.inner, loop);
        continue;
      }
      const int64_t iterations = (size + count - 1) / count;
      if (size % count != 0) plan_.last_fold = size % count;
      plan_.inner.sizes[loop] = iterations;
      for (Dims& strides : plan_.inner.strides) strides[loop] *= count;
    }
    plan_.inner = WithARow(plan_.inner);
  }

  ReducePlan& plan_;
  size_t outer_, inner_;            // number of loops not taken
  LoopNest<kTakenOperands> taken_;  // beginning with the innermost one
  int64_t columns_ = 1, batch_ = 1, folded_ = 1;
  bool is_packed_ = true;
};

// True if rows are short enough to be turned into columns.
bool HasShortRows(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t row = plan.inner.sizes.back();
  const int64_t columns = traits.any_order ? plan.output_count : plan.outer.sizes.back();
  return row < traits.short_row && row <= columns && OuterStride(plan) != 0;
}

// Number of outputs in a batch if nothing is folded.
int64_t BatchFor(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t row = plan.outer.sizes.back();
  const bool is_direct =
      OuterStride(plan) == 1 && row >= kNarrow && row * plan.group_size >= kFewElements;
  if (traits.batch_of_elements > 0 && !is_direct) {
    const int64_t scale = InnerStride(plan) == 1 ? kScaleOfRows : 1;
    int64_t batch = traits.batch_of_elements * scale / plan.group_size;
    if (batch > kLanes) batch -= batch % kLanes;
    return std::clamp(batch, int64_t{1}, traits.batch_of_columns);
  }
  // Without vectors, only the single outputs that were left unresolved are wanted.
  if (!plan.by_columns) return traits.by_vectors ? kBatchOfRows : 1;
  const bool is_packed = traits.by_vectors && !is_direct;
  const int64_t batch =
      std::min(traits.batch_of_columns, is_packed ? kBatchOfPacked : traits.batch_of_columns);
  // Columns have a fixed stride unless they are packed in any order.
  return is_packed && traits.any_order ? batch : std::min(batch, row);
}

// Divides the outputs into batches and the elements into columns.
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

// Divides long groups, and shorter ones if there are too few batches for the threads.
int64_t BlockFor(const ReducePlan& plan, const ReduceTraits& traits) {
  const int64_t iterations = plan.iterations();
  if (traits.batch_of_elements > 0) return iterations;
  int64_t block = std::min(iterations, traits.block);
  // If the order of elements matters, the parts of a group depend on its size alone.
  if (!traits.any_order) return block;
  const int64_t merged = std::max(iterations / kIterationsPerMerge, kFewBlocks);
  const int64_t blocks = std::clamp(kEnoughPieces / plan.batch_count(), int64_t{1}, merged);
  const int64_t for_pieces = (iterations + blocks - 1) / blocks;
  const int64_t for_work = kWork / plan.column_count() + 1;
  return std::min(block, std::max(for_pieces, for_work));
}

}  // namespace

std::optional<int64_t> RunStride(const Layout& input, const std::vector<uint32_t>& axes) {
  const auto loops = InOrderOfMemory(InnerLoops(input, axes), ReducePlan::kElement);
  if (loops.rank() > 1) return std::nullopt;
  return loops.rank() == 0 ? 0 : loops.strides[ReducePlan::kElement].back();
}

ReducePlan PlanReduce(const Layout& input, const Layout& output, const Layout& shift,
                      const std::vector<uint32_t>& axes, const ReduceTraits& traits) {
  LoopNest<ReducePlan::kOuterOperands> outer;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (IsReduced(d, axes)) continue;
    outer.Push(input.sizes[d], {input.strides[d], output.strides[d], shift.strides[d]});
  }

  ReducePlan plan;
  plan.inner = InnerLoops(input, axes);
  plan.group_size = Product(plan.inner.sizes);
  plan.output_count = Product(outer.sizes);
  plan.outer = WithARow(InOrderOfMemory(Merged(outer), ReducePlan::kInput));
  if (traits.any_order) plan.inner = InOrderOfMemory(plan.inner, ReducePlan::kElement);
  plan.inner = WithARow(plan.inner);
  plan.by_columns = traits.batch_of_elements > 0 || OutputsLieCloser(plan);
  if (traits.by_vectors && HasShortRows(plan, traits)) plan.by_columns = true;
  SetBatches(plan, traits);
  plan.block = BlockFor(plan, traits);
  return plan;
}

}  // namespace dmlop
