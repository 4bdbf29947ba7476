#include "core/ops/tiled_loop.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {
namespace {

enum Operand : size_t { kTo, kFrom };

constexpr int64_t kTileBytes = 1 << 15;      // a tile and its source stay in the first-level cache
constexpr int64_t kTransposedSide = 64;      // elements, where source and destination disagree
constexpr int64_t kParallelBytes = 1 << 17;  // less than this is not worth a second thread

// The tile's two loops, and the loops around it.
struct TilePlan {
  LoopNest<2> around;
  CopyTile whole;       // the two innermost loops, not yet cut
  int64_t outer_block;  // elements of a tile along each of its loops
  int64_t inner_block;
};

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

TilePlan PlanTiles(const ConstTensorView& from, const TensorView& to) {
  LoopNest<2> nest{to.layout.sizes, {to.layout.strides, from.layout.strides}};
  nest = Merged(SortedByStride(Merged(nest), kTo));
  while (nest.rank() < 2) {  // a tile always has two loops
    LoopNest<2> wrapped;
    wrapped.Push(1, {0, 0});
    for (size_t d = 0; d < nest.rank(); ++d) wrapped.Push(nest.sizes[d], nest.Step(d));
    nest = wrapped;
  }

  const size_t inner = nest.rank() - 1;
  const size_t source = SourceLoop(nest);
  const bool transposed = source != inner;
  const size_t outer = transposed ? source : inner - 1;
  TilePlan plan;
  plan.whole = {nest.sizes[outer],        nest.sizes[inner],          nest.strides[kTo][outer],
                nest.strides[kTo][inner], nest.strides[kFrom][outer], nest.strides[kFrom][inner]};
  plan.around = Without(Without(nest, inner), outer);

  const int64_t tile_elements = kTileBytes / static_cast<int64_t>(ByteWidth(to.type));
  plan.inner_block = std::min(plan.whole.inner_count, transposed ? kTransposedSide : tile_elements);
  plan.outer_block = std::min(
      plan.whole.outer_count,
      transposed ? kTransposedSide : std::max<int64_t>(1, tile_elements / plan.inner_block));
  return plan;
}

int64_t BlocksOf(int64_t count, int64_t block) {
  return (count + block - 1) / block;
}

}  // namespace

void ForEachTile(const ConstTensorView& from, const TensorView& to, const TileWork& work) {
  const TilePlan plan = PlanTiles(from, to);
  const int64_t width = static_cast<int64_t>(ByteWidth(to.type));
  const int64_t from_width = static_cast<int64_t>(ByteWidth(from.type));
  LoopNest<2> tiles = plan.around;
  tiles.Push(BlocksOf(plan.whole.outer_count, plan.outer_block),
             {plan.outer_block * plan.whole.to_outer_stride,
              plan.outer_block * plan.whole.from_outer_stride});
  tiles.Push(BlocksOf(plan.whole.inner_count, plan.inner_block),
             {plan.inner_block * plan.whole.to_inner_stride,
              plan.inner_block * plan.whole.from_inner_stride});
  const int64_t outer_tiles = tiles.sizes[tiles.rank() - 2];
  const int64_t inner_tiles = tiles.sizes.back();
  const int64_t tile_bytes = plan.outer_block * plan.inner_block * width;

  ParallelFor(
      Product(tiles.sizes), BlocksOf(kParallelBytes, tile_bytes), [&](int64_t begin, int64_t end) {
        Walk<2> walk(tiles, begin);
        for (int64_t i = begin; i < end; ++i, walk.Next()) {
          const int64_t outer_start = i / inner_tiles % outer_tiles * plan.outer_block;
          const int64_t inner_start = i % inner_tiles * plan.inner_block;
          CopyTile tile = plan.whole;
          tile.outer_count = std::min(plan.outer_block, plan.whole.outer_count - outer_start);
          tile.inner_count = std::min(plan.inner_block, plan.whole.inner_count - inner_start);
          work(tile, to.data + walk.offset(kTo) * width,
               from.data + walk.offset(kFrom) * from_width);
        }
      });
}

void CopyView(const ConstTensorView& from, const TensorView& to) {
  const CopyTileFunction copy_tile = CopyTileFor(ByteWidth(to.type));
  ForEachTile(from, to, copy_tile);
}

}  // namespace dmlop
