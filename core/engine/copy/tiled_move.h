// Element-wise work between two views of equal sizes, planned once as a list of tiles. Several
// threads may each run some of them.
#pragma once

#include <functional>

#include "core/engine/copy/tile_plan.h"
#include "core/engine/copy/tiled_loop.h"
#include "core/tensor/tensor.h"

namespace dmlop {

class TiledMove {
 public:
  // `row` is null where elements are only copied. `all_bytes` are those of the whole work that
  // this is a part of.
  TiledMove(const ConstTensorView& from, const TensorView& to, int64_t all_bytes,
            const RowWork* row);

  int64_t tiles() const { return Product(plan_.grid.sizes); }
  int64_t tile_bytes() const { return plan_.shapes.front().elements * width_; }

  bool streams() const { return plan_.streams; }  // past the caches; see FlushStreams

  // Works on tiles [begin, end) of views that begin so many elements after those of the plan.
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
  int64_t width_;  // bytes of an element
  const RowWork* row_;
  TileWork in_;   // the first move of a tile
  TileWork out_;  // the second, from the buffer
};

}  // namespace dmlop
