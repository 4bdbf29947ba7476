// SPDX-License-Identifier: Apache-2.0
// A tile is a box of elements together with the loops that move it. Work between two layouts is cut
// into tiles, and a tile into slices, between which memory is prefetched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/memory.h"
#include "core/engine/copy/copy_views.h"
#include "core/kernels/copy/copy.h"
#include "core/kernels/simd/prefetch.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/tensor.h"

namespace dmlop {

enum Operand : size_t { kTo, kFrom };

// The two loops of a kernel, and the loops around them.
struct TileMove {
  CopyTile tile;
  LoopNest<2> around;
};

// The kernel takes the last loop and the one along the source's lines, or else the largest. If
// these are too short to repay a call, it takes the two largest loops.
TileMove MoveOf(const LoopNest<2>& loops);

// Calls body(tile, to, from) with the offsets, in elements, of each tile of the kernel.
template <typename Body>
void ForEachTile(const TileMove& move, Body&& body) {
  Walk<2> place(move.around, 0);
  for (int64_t i = Product(move.around.sizes); i > 0; --i, place.Next()) {
    body(move.tile, place.offset(kTo), place.offset(kFrom));
  }
}

// If the lines of the source and of the destination differ, the tile is packed into a buffer
// without gaps, so that each line of either is touched once.
struct TileShape {
  int64_t elements;
  TileMove in;   // from the source to the buffer, or to the destination
  TileMove out;  // from the buffer
};

// Number of elements of a box that lie side by side in the destination, from the first one on. The
// loops are in the destination's order.
int64_t RunOf(const LoopNest<2>& box);

TileShape DirectShape(const LoopNest<2>& box);
TileShape BufferedShape(const LoopNest<2>& box);

// --- tiles of the whole work ---------------------------------------------------------------------

// A loop that is divided among tiles.
struct TileCut {
  size_t loop = Dims::kMaxCount;  // kMaxCount: no loop
  int64_t size = 1;
  int64_t step = 1;

  // Number of steps of the loop that are left for the last tile.
  int64_t Rest() const { return (size - 1) % step + 1; }
};

struct TilePlan {
  static constexpr size_t kFirstCut = 2;  // operand of `grid`; the other cut follows

  static constexpr int64_t kTileBytes = kNearestBytes;  // largest tile

  LoopNest<4> grid;  // offsets of each tile's first element, and its places along the cuts
  TileCut cuts[2];
  std::vector<TileShape> shapes;  // whole; cut short along the first cut, the second, both
  bool has_rows;                  // rows are long enough to be moved one by one
  bool buffered;
  bool streams;  // results bypass the caches

  // The shape of the tile at `place`; null if the grid reaches beyond the end there.
  const TileShape* ShapeAt(const Walk<4>& place) const;
};

// `all_bytes` is the size of the whole work, of which this may be a part. `computes` says that
// elements are computed, not only copied.
TilePlan PlanTiles(const ConstTensorView& from, const TensorView& to, int64_t all_bytes,
                   bool computes);

// --- slices of a tile ----------------------------------------------------------------------------

// Slices of a tile whose outer loop runs along lines of the source. A slice is a few lines or, if
// the tile has only a few, a part of each line.
class TileSlices {
 public:
  // `width` is the size of an element in bytes.
  TileSlices(const CopyTile& tile, int64_t width) : tile_(tile), width_(width) {
    if (tile.inner_count < kSliceLines) {
      loop_ = &CopyTile::outer_count;
      size_ = kPartBytes / width;
      to_step_ = size_ * tile.to_outer_stride * width;
      from_step_ = size_ * tile.from_outer_stride * width;
    } else {
      loop_ = &CopyTile::inner_count;
      size_ = std::max(kSliceLines, kBlockBytes / width);
      to_step_ = size_ * tile.to_inner_stride * width;
      from_step_ = size_ * tile.from_inner_stride * width;
    }
    count_ = std::max<int64_t>(1, tile.*loop_ / size_);
  }

  int64_t count() const { return count_; }
  int64_t to_offset(int64_t slice) const { return slice * to_step_; }
  int64_t from_offset(int64_t slice) const { return slice * from_step_; }

  // The last slice takes the remainder, too: alone it might be less than a block of the kernel.
  CopyTile Slice(int64_t slice) const {
    CopyTile tile = tile_;
    tile.*loop_ = slice + 1 < count_ ? size_ : tile_.*loop_ - slice * size_;
    return tile;
  }

  // Prefetches what a slice of a tile at `from` reads. Always inlined, because GCC treats a call
  // that only prefetches as one without effects.
  [[gnu::always_inline]] void Prefetch(int64_t slice, const std::byte* from) const {
    const CopyTile tile = Slice(slice);
    from += from_offset(slice);
    for (int64_t i = 0; i < tile.inner_count; ++i) {
      PrefetchLines(from + i * tile.from_inner_stride * width_, tile.outer_count * width_);
    }
  }

 private:
  static constexpr int64_t kSliceLines = 8;
  static constexpr int64_t kPartBytes = 1 << 8;   // of each line, if a tile has only a few
  static constexpr int64_t kBlockBytes = 1 << 4;  // side of a block of the kernel

  CopyTile tile_;
  int64_t width_;
  int64_t CopyTile::*loop_;
  int64_t size_;
  int64_t count_;
  int64_t to_step_, from_step_;
};

// --- work in tiles -------------------------------------------------------------------------------

// Element-wise work between two views of equal sizes, planned once as a list of tiles, which
// several threads may share.

class TiledMove {
 public:
  // `row` is null if elements are only copied. `all_bytes` is the size of the whole work, of which
  // this may be a part.
  TiledMove(const ConstTensorView& from, const TensorView& to, int64_t all_bytes,
            const RowWork* row);

  int64_t tiles() const { return Product(plan_.grid.sizes); }
  int64_t tile_bytes() const { return plan_.shapes.front().elements * width_; }

  bool streams() const { return plan_.streams; }  // bypasses the caches; see FlushStreams

  // Works on tiles [begin, end) of views that begin at these offsets, in elements, from the plan's.
  void Run(int64_t begin, int64_t end, int64_t to_offset, int64_t from_offset) const;

 private:
  using TileWork = std::function<void(const CopyTile& tile, std::byte* to, const std::byte* from)>;

  TileWork StreamRows() const;
  TileWork ComputeRows() const;
  TileWork PrefetchingFor(int64_t distance) const;
  TileWork ReadingOnFor(int64_t distance) const;
  TileWork ReadingFor(const TileMove& move, int64_t distance) const;
  void WorkOnTile(const TileShape& shape, std::byte* to, const std::byte* from,
                  const std::byte* next) const;
  void RunMove(const TileMove& move, const TileWork& work, std::byte* to,
               const std::byte* from) const;

  TilePlan plan_;
  const std::byte* from_;
  std::byte* to_;
  int64_t width_;  // size of an element in bytes
  const RowWork* row_;
  TileWork in_;   // first move of a tile
  TileWork out_;  // second move, out of the buffer
};

}  // namespace dmlop
