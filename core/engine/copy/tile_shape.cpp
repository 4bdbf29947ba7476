// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/tile_shape.h"

#include <algorithm>

namespace dmlop {
namespace {

// A call of a vector kernel does not pay for fewer elements.
constexpr int64_t kFewElements = 32;

// Number of innermost loops that together cover one run of the destination.
size_t RunLoops(const LoopNest<2>& box) {
  int64_t run = 1;
  size_t loops = 0;
  while (loops < box.rank() && box.strides[kTo][box.rank() - 1 - loops] == run) {
    run *= box.sizes[box.rank() - 1 - loops++];
  }
  return loops;
}

size_t LargestLoop(const LoopNest<2>& nest, size_t except) {
  size_t best = except == 0 ? 1 : 0;
  for (size_t d = 0; d < nest.rank(); ++d) {
    if (d != except && nest.sizes[d] >= nest.sizes[best]) best = d;
  }
  return best;
}

// The loop that a kernel runs around `inner`: the one along the source's lines, or else the
// largest.
size_t OuterLoop(const LoopNest<2>& nest, size_t inner) {
  for (size_t d = 0; d < nest.rank(); ++d) {
    if (d != inner && nest.strides[kFrom][d] == 1) return d;
  }
  return LargestLoop(nest, inner);
}

// The loops of the box in the buffer's order: runs of the destination, one after another in the
// source's order.
LoopNest<2> BufferOrder(const LoopNest<2>& box) {
  const size_t run_begin = box.rank() - RunLoops(box);
  LoopNest<2> rows;
  for (size_t d = 0; d < run_begin; ++d) rows.Push(box.sizes[d], box.Step(d));
  LoopNest<2> ordered = SortedByStride(rows, kFrom);
  for (size_t d = run_begin; d < box.rank(); ++d) ordered.Push(box.sizes[d], box.Step(d));
  return ordered;
}

}  // namespace

TileMove MoveOf(const LoopNest<2>& loops) {
  LoopNest<2> nest = Merged(loops);
  if (nest.rank() == 0) nest.Push(1, {1, 1});
  if (nest.rank() == 1) {
    return {{1, nest.sizes[0], 0, nest.strides[kTo][0], 0, nest.strides[kFrom][0]}, {}};
  }
  size_t inner = nest.rank() - 1;
  size_t outer = OuterLoop(nest, inner);
  const bool is_row = nest.strides[kTo][inner] == 1 && nest.strides[kFrom][inner] == 1;
  if (!is_row && nest.sizes[inner] * nest.sizes[outer] < kFewElements) {
    inner = LargestLoop(nest, nest.rank());
    outer = LargestLoop(nest, inner);
  }
  TileMove move;
  move.tile = {nest.sizes[outer],        nest.sizes[inner],          nest.strides[kTo][outer],
               nest.strides[kTo][inner], nest.strides[kFrom][outer], nest.strides[kFrom][inner]};
  for (size_t d = 0; d < nest.rank(); ++d) {
    if (d != inner && d != outer) move.around.Push(nest.sizes[d], nest.Step(d));
  }
  return move;
}

int64_t RunOf(const LoopNest<2>& box) {
  int64_t run = 1;
  for (size_t d = box.rank() - RunLoops(box); d < box.rank(); ++d) run *= box.sizes[d];
  return run;
}

TileShape DirectShape(const LoopNest<2>& box) {
  return {Product(box.sizes), MoveOf(box), {}};
}

TileShape BufferedShape(const LoopNest<2>& box) {
  const LoopNest<2> order = BufferOrder(box);
  const Dims buffer = PackedStrides(order.sizes);
  TileMove in = MoveOf({order.sizes, {buffer, order.strides[kFrom]}});
  in.around = SortedByStride(in.around, kFrom);  // so that memory is read sequentially
  return {Product(box.sizes), in, MoveOf({order.sizes, {order.strides[kTo], buffer}})};
}

}  // namespace dmlop
