#include "core/ops/tile_plan.h"

#include <algorithm>

namespace dmlop {
namespace {

using enum TilePlan::Operand;

constexpr int64_t kLine = 64;             // bytes of a cache line
constexpr int64_t kBlockBytes = 1 << 15;  // a block and its source stay in the first-level cache
constexpr int64_t kTransposedSide = 64;   // elements, where source and destination disagree

// The side of a streamed block where they do. The pages that it touches on both sides stay in the
// translation buffers until it is done.
constexpr int64_t kTransposedBytes = 1 << 11;

// The loop along which the source is walked in the smallest steps. Repeated elements (stride 0)
// cost nothing to read, so an inner loop over them stays where it is.
size_t SourceLoop(const LoopNest<2>& nest) {
  size_t best = nest.rank() - 1;
  for (size_t d = nest.rank(); d-- > 0;) {
    const int64_t stride = nest.strides[kFrom][d];
    if (stride != 0 && stride < nest.strides[kFrom][best]) best = d;
  }
  return best;
}

// The loops of both layouts as the destination is walked; at least two.
LoopNest<2> DestinationOrder(const ConstTensorView& from, const TensorView& to) {
  LoopNest<2> nest{to.layout.sizes, {to.layout.strides, from.layout.strides}};
  nest = Merged(SortedByStride(Merged(nest), kTo));
  if (nest.rank() >= 2) return nest;
  LoopNest<2> wrapped;
  for (size_t d = nest.rank(); d < 2; ++d) wrapped.Push(1, {0, 0});
  for (size_t d = 0; d < nest.rank(); ++d) wrapped.Push(nest.sizes[d], nest.Step(d));
  return wrapped;
}

int64_t BlocksOf(int64_t count, int64_t block) {
  return (count + block - 1) / block;
}

CopyTile Cut(const CopyTile& whole, int64_t outer_count, int64_t inner_count) {
  CopyTile cut = whole;
  cut.outer_count = std::min(whole.outer_count, outer_count);
  cut.inner_count = std::min(whole.inner_count, inner_count);
  return cut;
}

// As many whole rows as have that many elements, or a part of one row.
CopyTile CutRows(const CopyTile& whole, int64_t elements) {
  const int64_t inner_count = std::min(whole.inner_count, elements);
  return Cut(whole, std::max<int64_t>(1, elements / inner_count), inner_count);
}

// Rows of two lines. Where the source has few rows, longer ones.
CopyTile CutTransposed(const CopyTile& whole, int64_t width) {
  const int64_t line = kLine / width;
  const int64_t elements = StreamBuffer::kCapacity / width;
  const int64_t row = std::max(2 * line, elements / whole.outer_count / line * line);
  return CutRows(Cut(whole, whole.outer_count, row), elements);
}

void SetBlocks(bool transposed, int64_t width, TilePlan& plan) {
  if (!transposed) {
    plan.block = CutRows(plan.whole, kBlockBytes / width);
    plan.tile = plan.streams ? CutRows(plan.block, StreamBuffer::kCapacity / width) : plan.block;
  } else if (plan.streams) {
    const int64_t side = kTransposedBytes / width;
    plan.block = Cut(plan.whole, side, side);
    plan.tile = CutTransposed(plan.block, width);
  } else {
    plan.block = plan.tile = Cut(plan.whole, kTransposedSide, kTransposedSide);
  }
}

// Loops that step within a line of either side come last, so that a line is used up before it is
// evicted.
bool StaysInLine(const LoopNest<2>& nest, size_t d, int64_t width) {
  return std::min(nest.strides[kTo][d], nest.strides[kFrom][d]) * width < kLine;
}

void PushLoops(const LoopNest<2>& around, int64_t width, TilePlan& plan) {
  const CopyTile& whole = plan.whole;
  LoopNest<2>& blocks = plan.blocks;
  for (size_t d = 0; d < around.rank(); ++d) {
    if (!StaysInLine(around, d, width)) blocks.Push(around.sizes[d], around.Step(d));
  }
  blocks.Push(BlocksOf(whole.outer_count, plan.block.outer_count),
              {plan.block.outer_count * whole.to_outer_stride,
               plan.block.outer_count * whole.from_outer_stride});
  blocks.Push(BlocksOf(whole.inner_count, plan.block.inner_count),
              {plan.block.inner_count * whole.to_inner_stride,
               plan.block.inner_count * whole.from_inner_stride});
  plan.inside = 1;
  for (size_t d = 0; d < around.rank(); ++d) {
    if (!StaysInLine(around, d, width)) continue;
    blocks.Push(around.sizes[d], around.Step(d));
    plan.inside *= around.sizes[d];
  }
}

// True when tiles have runs of whole lines.
bool HasRuns(const CopyTile& whole, int64_t width) {
  const bool packed = whole.to_outer_stride == whole.inner_count;
  const int64_t run = whole.inner_count * (packed ? whole.outer_count : 1);
  return whole.to_inner_stride == 1 && run * width >= 2 * kLine;
}

}  // namespace

CopyTile TilePlan::Block(int64_t number) const {
  const int64_t inner_blocks = BlocksOf(whole.inner_count, block.inner_count);
  const int64_t outer_blocks = BlocksOf(whole.outer_count, block.outer_count);
  const int64_t position = number / inside;
  const int64_t outer = position / inner_blocks % outer_blocks * block.outer_count;
  const int64_t inner = position % inner_blocks * block.inner_count;
  CopyTile rest = whole;
  rest.outer_count = std::min(block.outer_count, whole.outer_count - outer);
  rest.inner_count = std::min(block.inner_count, whole.inner_count - inner);
  return rest;
}

TilePlan PlanTiles(const ConstTensorView& from, const TensorView& to) {
  const LoopNest<2> nest = DestinationOrder(from, to);
  const int64_t width = static_cast<int64_t>(ByteWidth(to.type));
  const size_t inner = nest.rank() - 1;
  const size_t source = SourceLoop(nest);
  const bool transposed = source != inner;
  const size_t outer = transposed ? source : inner - 1;
  TilePlan plan;
  plan.whole = {nest.sizes[outer],        nest.sizes[inner],          nest.strides[kTo][outer],
                nest.strides[kTo][inner], nest.strides[kFrom][outer], nest.strides[kFrom][inner]};
  plan.streams = Product(nest.sizes) * width >= kStreamBytes && HasRuns(plan.whole, width);
  SetBlocks(transposed, width, plan);
  PushLoops(Without(Without(nest, inner), outer), width, plan);
  return plan;
}

}  // namespace dmlop
