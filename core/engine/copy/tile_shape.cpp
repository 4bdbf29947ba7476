// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/tile_shape.h"

#include "core/base/integers.h"
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

// The loop that a kernel runs around `inner`: along the source's lines, or else the largest.
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
  // Loops within cache lines of either side come last, so that a line is used up before it goes.
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

// --- work in tiles -------------------------------------------------------------------------------

namespace {

constexpr int64_t kSlicesAhead = 3;  // prefetched ahead: enough to hide the latency

}  // namespace

TiledMove::TiledMove(const ConstTensorView& from, const TensorView& to, int64_t all_bytes,
                     const RowWork* row)
    : plan_(PlanTiles(from, to, all_bytes, row != nullptr)),
      from_(from.data),
      to_(to.data),
      width_(static_cast<int64_t>(ByteWidth(to.type))),
      row_(row) {
  const TileWork copy = CopyTileFor(ByteWidth(to.type));
  const TileWork write = plan_.streams ? StreamRows() : copy;
  const TileWork compute = row != nullptr && plan_.has_rows ? ComputeRows() : copy;
  in_ = plan_.buffered || row != nullptr ? compute : write;
  out_ = write;
}

void TiledMove::Run(int64_t begin, int64_t end, int64_t to_offset, int64_t from_offset) const {
  std::byte* to = to_ + to_offset * width_;
  const std::byte* from = from_ + from_offset * width_;
  if (plan_.grid.rank() == 0) return WorkOnTile(plan_.shapes.front(), to, from, from);
  const auto source = [&](const Walk<4>& place) { return from + place.offset(kFrom) * width_; };
  Walk<4> place(plan_.grid, begin);
  Walk<4> next = place;
  for (int64_t i = begin; i < end; ++i, place.Next()) {
    next.Next();
    if (const TileShape* shape = plan_.ShapeAt(place)) {
      WorkOnTile(*shape, to + place.offset(kTo) * width_, source(place),
                 source(i + 1 < end ? next : place));
    }
  }
}

TiledMove::TileWork TiledMove::StreamRows() const {
  return [stream = StreamRowsForIsa(), width = width_](const CopyTile& tile, std::byte* to,
                                                       const std::byte* from) {
    stream(tile.outer_count, tile.inner_count * width, to, tile.to_outer_stride * width, from,
           tile.from_outer_stride * width);
  };
}

TiledMove::TileWork TiledMove::ComputeRows() const {
  return [row = row_, width = width_, streams = plan_.streams](const CopyTile& tile, std::byte* to,
                                                               const std::byte* from) {
    for (int64_t i = 0; i < tile.outer_count; ++i) {
      (*row)(tile.inner_count, to + i * tile.to_outer_stride * width,
             from + i * tile.from_outer_stride * width, streams);
    }
  };
}

// Does the first move slice by slice, while it prefetches the slice kSlicesAhead later, of this
// tile of the kernel or of the one `distance` bytes after it. The lines of a tile are in so many
// places that the hardware prefetcher does not find them, and lines a power of two apart share so
// few cache sets that most would be evicted if many were prefetched early.
TiledMove::TileWork TiledMove::PrefetchingFor(int64_t distance) const {
  return [this, distance](const CopyTile& tile, std::byte* to, const std::byte* from) {
    const TileSlices slices(tile, width_);
    for (int64_t i = 0; i < slices.count(); ++i) {
      const int64_t later = i + kSlicesAhead;
      slices.Prefetch(later % slices.count(), later < slices.count() ? from : from + distance);
      in_(slices.Slice(i), to + slices.to_offset(i), from + slices.from_offset(i));
    }
  };
}

// Does the first move, while it prefetches the same place of the next tile.
TiledMove::TileWork TiledMove::ReadingOnFor(int64_t distance) const {
  return [this, distance](const CopyTile& tile, std::byte* to, const std::byte* from) {
    PrefetchLines(from + distance, tile.inner_count * tile.from_inner_stride * width_);
    in_(tile, to, from);
  };
}

// The first move of a shape: it prefetches if the outer loop runs through whole lines of the
// source, or through a part of each line in several pieces. The hardware prefetches a single piece.
TiledMove::TileWork TiledMove::ReadingFor(const TileMove& move, int64_t distance) const {
  const CopyTile& tile = move.tile;
  if (tile.from_outer_stride != 1) return in_;
  if (tile.outer_count * width_ >= kLineBytes) return PrefetchingFor(distance);
  const int64_t step = tile.from_inner_stride * width_;
  return move.around.rank() > 0 && 0 < step && step < kLineBytes ? ReadingOnFor(distance) : in_;
}

// `next` is where the next tile's elements are, or `from` for the last tile.
void TiledMove::WorkOnTile(const TileShape& shape, std::byte* to, const std::byte* from,
                           const std::byte* next) const {
  if (!plan_.buffered) return RunMove(shape.in, in_, to, from);
  alignas(kLineBytes) std::byte buffer[TilePlan::kTileBytes];
  RunMove(shape.in, ReadingFor(shape.in, next - from), buffer, from);
  if (row_ != nullptr && !plan_.has_rows) (*row_)(shape.elements, buffer, buffer, false);
  RunMove(shape.out, out_, to, buffer);
}

void TiledMove::RunMove(const TileMove& move, const TileWork& work, std::byte* to,
                        const std::byte* from) const {
  ForEachTile(move, [&](const CopyTile& tile, int64_t to_offset, int64_t from_offset) {
    work(tile, to + to_offset * width_, from + from_offset * width_);
  });
}

}  // namespace dmlop
