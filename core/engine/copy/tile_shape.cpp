// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/tile_shape.h"

#include <algorithm>
#include <utility>

#include "core/base/integers.h"
#include "core/base/machine.h"
#include "core/kernels/copy/stream.h"

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

namespace {

// Shorter rows are packed into a buffer first and then written in whole lines.
constexpr int64_t kRowBytes = 1 << 8;

// Number of tiles in a strip along the source's lines. The pages that a strip touches on both sides
// stay in the translation buffers until it is done.
constexpr int64_t kStrip = 16;

// The loops over both layouts, in the destination's order.
LoopNest<2> CommonLoops(const ConstTensorView& from, const TensorView& to) {
  const LoopNest<2> nest{to.layout.sizes, {to.layout.strides, from.layout.strides}};
  return Merged(SortedByStride(Merged(nest), kTo));
}

// The loops, beginning with the one of the operand's smallest stride.
struct LoopOrder {
  Dims loops;

  // Number of elements of a box that this operand has side by side, or nearly so.
  int64_t Run(const Dims& box, const Dims& sizes) const {
    int64_t run = 1;
    for (const int64_t d : loops) {
      run *= box[static_cast<size_t>(d)];
      if (box[static_cast<size_t>(d)] != sizes[static_cast<size_t>(d)]) break;
    }
    return run;
  }

  // The first loop that the box does not cover completely.
  size_t Next(const Dims& box, const Dims& sizes) const {
    for (const int64_t d : loops) {
      if (box[static_cast<size_t>(d)] != sizes[static_cast<size_t>(d)]) {
        return static_cast<size_t>(d);
      }
    }
    return sizes.size();
  }
};

LoopOrder DestinationOrder(const LoopNest<2>& nest) {
  LoopOrder order;
  for (size_t d = nest.rank(); d-- > 0;) order.loops.push_back(static_cast<int64_t>(d));
  return order;
}

// Repeated elements (stride 0) cost nothing to read, so their loops are left out.
LoopOrder SourceOrder(const LoopNest<2>& nest) {
  LoopOrder order;
  for (size_t d = nest.rank(); d-- > 0;) {
    if (nest.strides[kFrom][d] != 0) order.loops.push_back(static_cast<int64_t>(d));
  }
  std::stable_sort(order.loops.begin(), order.loops.end(), [&](int64_t a, int64_t b) {
    return nest.strides[kFrom][static_cast<size_t>(a)] <
           nest.strides[kFrom][static_cast<size_t>(b)];
  });
  return order;
}

// True if the smallest stride of the source belongs to another loop than that of the destination.
bool IsTransposed(const LoopNest<2>& nest) {
  const Dims& steps = nest.strides[kFrom];
  return std::any_of(steps.begin(), steps.end(),
                     [&](int64_t step) { return 0 < step && step < steps.back(); });
}

// The sizes of a tile: it grows along the operand, source or destination, whose run is shorter.
Dims GrowBox(const LoopNest<2>& nest, int64_t capacity) {
  if (Product(nest.sizes) <= capacity) return nest.sizes;
  const LoopOrder to = DestinationOrder(nest);
  const LoopOrder from = SourceOrder(nest);
  Dims box = Dims::Filled(nest.rank(), 1);
  for (int64_t elements = 1;;) {
    const size_t to_next = to.Next(box, nest.sizes);
    const size_t from_next = from.Next(box, nest.sizes);
    const bool along_to =
        from_next == nest.rank() || to.Run(box, nest.sizes) <= from.Run(box, nest.sizes);
    const size_t next = along_to ? to_next : from_next;
    const int64_t size = std::min(2 * box[next], nest.sizes[next]);
    elements = elements / box[next] * size;
    if (elements > capacity) return box;
    box[next] = size;
  }
}

void SetCuts(const LoopNest<2>& nest, const Dims& box, size_t strip_loop, TilePlan& plan) {
  size_t cuts = 0;
  for (size_t d = 0; d < nest.rank(); ++d) {
    const bool is_cut = (box[d] > 1 || d == strip_loop) && box[d] < nest.sizes[d];
    if (is_cut) plan.cuts[cuts++] = {d, nest.sizes[d], box[d]};
  }
}

void SetGrid(const LoopNest<2>& nest, const Dims& box, size_t strip_loop, TilePlan& plan) {
  LoopNest<4> loops;
  LoopNest<4> strip;
  for (size_t d = 0; d < nest.rank(); ++d) {
    if (box[d] == nest.sizes[d]) continue;
    std::array<int64_t, 4> step{nest.strides[kTo][d], nest.strides[kFrom][d]};
    for (size_t cut = 0; cut < 2; ++cut) step[TilePlan::kFirstCut + cut] = plan.cuts[cut].loop == d;
    for (int64_t& s : step) s *= box[d];
    int64_t count = CeilDiv(nest.sizes[d], box[d]);
    if (d == strip_loop && count > kStrip) {
      strip.Push(kStrip, step);
      for (int64_t& s : step) s *= kStrip;
      count = CeilDiv(count, kStrip);
    }
    loops.Push(count, step);
  }
  // Loops that step within cache lines of either side come last, so that a line is used up before
  // it is evicted.
  plan.grid = SortedBy(
      loops, [&](size_t d) { return std::min(loops.strides[kTo][d], loops.strides[kFrom][d]); });
  if (strip.rank() > 0) plan.grid.Push(strip.sizes[0], strip.Step(0));
}

void SetShapes(const LoopNest<2>& nest, const Dims& box, TilePlan& plan) {
  const bool has_rests = std::any_of(std::begin(plan.cuts), std::end(plan.cuts),
                                     [](const TileCut& cut) { return cut.Rest() != cut.step; });
  for (const int shortened : {0, 1, 2, 3}) {
    Dims sizes = box;
    for (size_t cut = 0; cut < 2; ++cut) {
      const TileCut& part = plan.cuts[cut];
      if (part.step < part.size && (shortened >> cut & 1) != 0) sizes[part.loop] = part.Rest();
    }
    const LoopNest<2> shape{sizes, nest.strides};
    plan.shapes.push_back(plan.buffered ? BufferedShape(shape) : DirectShape(shape));
    if (!has_rests) return;
  }
}

}  // namespace

const TileShape* TilePlan::ShapeAt(const Walk<4>& place) const {
  size_t shortened = 0;
  for (size_t cut = 0; cut < 2; ++cut) {
    const int64_t rest = cuts[cut].size - place.offset(kFirstCut + cut);
    if (rest <= 0) return nullptr;
    if (rest < cuts[cut].step) shortened |= size_t{1} << cut;
  }
  return &shapes[shortened];
}

TilePlan PlanTiles(const ConstTensorView& from, const TensorView& to, int64_t all_bytes,
                   bool computes) {
  const LoopNest<2> nest = CommonLoops(from, to);
  const int64_t width = static_cast<int64_t>(ByteWidth(to.type));
  const Dims box = GrowBox(nest, TilePlan::kTileBytes / width);
  const bool transposed = IsTransposed(nest);
  const int64_t run = RunOf({box, nest.strides});
  TilePlan plan;
  plan.has_rows =
      nest.rank() == 0 || (nest.strides[kTo].back() == 1 && nest.strides[kFrom].back() == 1 &&
                           box.back() * width >= kRowBytes);
  plan.streams = all_bytes >= kStreamPiecesBytes && run * width >= 2 * kLineBytes;
  plan.buffered = !plan.has_rows && (plan.streams || transposed || computes);
  if (!(box == nest.sizes)) {
    const size_t strip_loop = transposed ? SourceOrder(nest).Next(box, nest.sizes) : nest.rank();
    SetCuts(nest, box, strip_loop, plan);
    SetGrid(nest, box, strip_loop, plan);
  }
  SetShapes(nest, box, plan);
  return plan;
}

}  // namespace dmlop
