// SPDX-License-Identifier: Apache-2.0
// Element-wise work between two views of equal sizes, planned once as a list of tiles, which
// several threads may share.
#pragma once

#include <functional>

#include "core/engine/copy/copy_views.h"
#include "core/engine/copy/tile_shape.h"
#include "core/tensor/tensor.h"

namespace dmlop {

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
