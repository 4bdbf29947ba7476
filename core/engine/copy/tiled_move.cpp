// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/tiled_move.h"

#include "core/engine/copy/tile_shape.h"
#include "core/kernels/copy/stream.h"
#include "core/kernels/simd/prefetch.h"

namespace dmlop {
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
