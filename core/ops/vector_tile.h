// What tiles of ReduceLoop have in common whose kernels take neighbours in memory.
#pragma once

#include <cstdint>

#include "core/ops/reduce_loop.h"

namespace dmlop {

// AddRow and AddColumns in terms of
//
//   AddNeighbours(o, x, count)                  elements of group o, one after another
//   AddRows(x, rows, row_stride, columns)       rows of neighbours, one to each of the first groups
//
// Elements that lie apart are added one at a time.
template <typename Tile, typename T>
class VectorTile {
 public:
  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride == 1) return tile().AddNeighbours(o, run.first, run.count);
    for (int64_t i = 0; i < run.count; ++i) {
      tile().AddNeighbours(o, run.first + i * run.stride, 1);
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if (columns.stride == 1) {
      return tile().AddRows(run.first, run.count, run.stride, columns.count);
    }
    for (int64_t o = 0; o < columns.count; ++o) {
      ElementRun<T> column = run;
      column.first += o * columns.stride;
      AddRow(o, column);
    }
  }

 private:
  Tile& tile() { return static_cast<Tile&>(*this); }
};

}  // namespace dmlop
