// SPDX-License-Identifier: Apache-2.0
// Splits a nest of loops into tiles of its two innermost ones, for operands in different orders: a
// tile of each fits into the caches.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/integers.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

template <size_t kOperands>
class TileWalk {
 public:
  using Offsets = std::array<int64_t, kOperands>;

  // The nest must have a rank of at least 2.
  TileWalk(const LoopNest<kOperands>& nest, int64_t tile_rows, int64_t tile_columns)
      : tile_rows_(tile_rows),
        tile_columns_(tile_columns),
        rows_(nest.sizes[nest.rank() - 2]),
        columns_(nest.sizes.back()) {
    for (size_t d = 0; d < nest.rank(); ++d) {
      const int64_t row_step = d + 2 == nest.rank() ? tile_rows : 0;
      const int64_t column_step = d + 1 == nest.rank() ? tile_columns : 0;
      const int64_t step = std::max<int64_t>({row_step, column_step, 1});
      std::array<int64_t, kOperands + 2> steps;
      for (size_t k = 0; k < kOperands; ++k) steps[k] = step * nest.strides[k][d];
      steps[kOperands] = row_step;
      steps[kOperands + 1] = column_step;
      tiles_.Push(CeilDiv(nest.sizes[d], step), steps);
    }
  }

  int64_t tile_count() const { return Product(tiles_.sizes); }

  // Calls body(offsets, rows, columns) for the tiles [begin, end); `offsets` has the offset of a
  // tile's first element for each operand.
  template <typename Body>
  void ForEach(int64_t begin, int64_t end, Body&& body) const {
    Walk<kOperands + 2> place(tiles_, begin);
    for (int64_t i = begin; i < end; ++i, place.Next()) {
      Offsets offsets;
      for (size_t k = 0; k < kOperands; ++k) offsets[k] = place.offset(k);
      body(offsets, std::min(tile_rows_, rows_ - place.offset(kOperands)),
           std::min(tile_columns_, columns_ - place.offset(kOperands + 1)));
    }
  }

 private:
  int64_t tile_rows_, tile_columns_;
  int64_t rows_, columns_;
  LoopNest<kOperands + 2> tiles_;  // first row and column are operands, too
};

}  // namespace dmlop
