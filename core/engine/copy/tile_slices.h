// SPDX-License-Identifier: Apache-2.0
// Divides a tile of the kernel into slices, between which memory is prefetched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/kernels/copy/copy.h"
#include "core/kernels/simd/prefetch.h"

namespace dmlop {

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

}  // namespace dmlop
