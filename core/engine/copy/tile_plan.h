// SPDX-License-Identifier: Apache-2.0
// Cuts element-wise work between two layouts into tiles.
#pragma once

#include <vector>

#include "core/base/machine.h"
#include "core/engine/copy/tile_shape.h"
#include "core/tensor/tensor.h"

namespace dmlop {

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

}  // namespace dmlop
