// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/element_packer.h"

#include "core/engine/copy/tile_shape.h"

namespace dmlop {

void ElementPacker::PackColumns(const ColumnRun& columns, int64_t rows, int64_t row_stride,
                                std::byte* to, const std::byte* from) const {
  if (columns.loops == nullptr) {
    return copy_({rows, columns.count, columns.count, 1, row_stride, columns.stride}, to, from);
  }
  LoopNest<2> loops;
  loops.Push(rows, {columns.count, row_stride});
  for (size_t d = 0; d < columns.loops->rank(); ++d) {
    loops.Push(columns.loops->sizes[d], columns.loops->Step(d));
  }
  ForEachTile(MoveOf(loops), [&](const CopyTile& tile, int64_t to_offset, int64_t from_offset) {
    copy_(tile, to + to_offset * width_, from + from_offset * width_);
  });
}

}  // namespace dmlop
