// How element-wise work between two layouts is cut into tiles.
#pragma once

#include <vector>

#include "core/base/machine.h"
#include "core/engine/copy/tile_shape.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A loop of which a tile has a part.
struct TileCut {
  size_t loop = Dims::kMaxCount;  // none
  int64_t size = 1;
  int64_t step = 1;

  // What the last tile has of it.
  int64_t Rest() const { return (size - 1) % step + 1; }
};

struct TilePlan {
  static constexpr size_t kFirstCut = 2;  // operand of grid; the other cut follows

  static constexpr int64_t kTileBytes = kNearestBytes;  // the largest tile

  LoopNest<4> grid;  // over the first elements of tiles, and where these are along the cuts
  TileCut cuts[2];
  std::vector<TileShape> shapes;  // whole; cut short along the first cut, the last one, both
  bool has_rows;                  // long enough to be moved one by one
  bool buffered;
  bool streams;  // past the caches

  // The shape of the tile there; null where the grid reaches beyond the end.
  const TileShape* ShapeAt(const Walk<4>& place) const;
};

// `all_bytes` are those of the whole work that this is a part of. `computes`: elements are not only
// copied.
TilePlan PlanTiles(const ConstTensorView& from, const TensorView& to, int64_t all_bytes,
                   bool computes);

}  // namespace dmlop
