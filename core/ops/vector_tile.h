// What tiles of ReduceLoop have in common whose kernels take neighbours in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/kernels/copy.h"
#include "core/ops/reduce_loop.h"
#include "core/ops/tile_shape.h"

namespace dmlop {

// Of a block, where nothing but speed limits it: enough for memory to be read ahead.
inline constexpr int64_t kBytesOfBlock = 1 << 20;

// Calls body(piece) for pieces of a run that are `length` long, but for the last.
template <typename T, typename Body>
void ForEachPiece(const ElementRun<T>& run, int64_t length, Body&& body) {
  for (int64_t i = 0; i < run.count; i += length) {
    body(ElementRun<T>{run.first + i * run.stride, std::min(length, run.count - i), run.stride,
                       run.number + i * run.number_step, run.number_step});
  }
}

// AddRow and AddColumns in terms of
//
//   AddNeighbours(o, x, count)                  elements of group o, one after another
//   AddRows(x, rows, row_stride, columns)       rows of neighbours, one to each of the first groups
//
// and, if it has kMinShortRow, the elements of a row that is worth it,
//
//   AddShortRows(o, rows, pitch, run)           `rows` such runs, to each group from o on, which
//                                               begin `pitch` elements apart
//
// Elements that lie apart are copied side by side first. A tile that needs the elements' numbers
// has AddPackedRow and AddPackedRows instead.
template <typename Tile, typename T>
class VectorTile {
 public:
  static constexpr bool kByVectors = true;

  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride == 1) return tile().AddPackedRow(o, run);
    ForEachPiece(run, kGathered, [&](const ElementRun<T>& piece) {
      alignas(64) T gathered[kGathered];
      Copy({1, piece.count, 0, 1, 0, piece.stride}, gathered, piece.first);
      tile().AddPackedRow(o, {gathered, piece.count, 1, piece.number, piece.number_step});
    });
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if constexpr (requires { Tile::kMinShortRow; }) {
      if (run.stride == 1 && run.count >= Tile::kMinShortRow) return AddShortRows(columns, run);
    }
    const bool is_regular = columns.loops == nullptr;
    if (is_regular && columns.count < kFewColumns && run.count >= kManyRows) {
      return AddFewColumns(columns, run);
    }
    if (is_regular && columns.stride == 1) return tile().AddPackedRows(columns.count, run);
    ForEachPiece(run, kGathered / columns.count, [&](const ElementRun<T>& piece) {
      alignas(64) T gathered[kGathered];
      Gather(columns, piece, gathered);
      tile().AddPackedRows(columns.count,
                           {gathered, piece.count, columns.count, piece.number, piece.number_step});
    });
  }

  void AddPackedRow(int64_t o, const ElementRun<T>& run) {
    tile().AddNeighbours(o, run.first, run.count);
  }

  void AddPackedRows(int64_t columns, const ElementRun<T>& run) {
    tile().AddRows(run.first, run.count, run.stride, columns);
  }

 protected:
  static constexpr int64_t kGathered = (1 << 14) / sizeof(T);  // elements, in the nearest cache

 private:
  static constexpr int64_t kFewColumns = 8;
  static constexpr int64_t kManyRows = 64;

  Tile& tile() { return static_cast<Tile&>(*this); }

  void Copy(const CopyTile& tile, T* to, const T* from) const {
    copy_(tile, reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from));
  }

  // As many at a time as begin at regular distances.
  void AddShortRows(const ColumnRun& columns, ElementRun<T> run) {
    if (columns.loops == nullptr) {
      return tile().AddShortRows(0, columns.count, columns.stride, run);
    }
    LoopNest<ReducePlan::kColumnOperands> around = *columns.loops;
    const int64_t rows = std::exchange(around.sizes.back(), 1);
    const T* const first = run.first;
    Walk<ReducePlan::kColumnOperands> place(around, 0);
    for (int64_t i = Product(around.sizes); i > 0; --i, place.Next()) {
      run.first = first + place.offset(ReducePlan::kInMemory);
      tile().AddShortRows(place.offset(ReducePlan::kPlace), rows,
                          around.strides[ReducePlan::kInMemory].back(), run);
    }
  }

  // Packs the columns, a row after the other.
  void Gather(const ColumnRun& columns, const ElementRun<T>& run, T* to) const {
    if (columns.loops == nullptr) {
      return Copy({run.count, columns.count, columns.count, 1, run.stride, columns.stride}, to,
                  run.first);
    }
    LoopNest<2> loops;
    loops.Push(run.count, {columns.count, run.stride});
    for (size_t d = 0; d < columns.loops->rank(); ++d) {
      loops.Push(columns.loops->sizes[d], columns.loops->Step(d));
    }
    ForEachTile(MoveOf(loops), [&](const CopyTile& tile, int64_t to_offset, int64_t from_offset) {
      Copy(tile, to + to_offset, run.first + from_offset);
    });
  }

  // The columns one after another, as long as what one touches is still near for the next.
  void AddFewColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    constexpr int64_t kRows = 1024;
    ForEachPiece(run, kRows, [&](ElementRun<T> piece) {
      for (int64_t o = 0; o < columns.count; ++o, piece.first += columns.stride) AddRow(o, piece);
    });
  }

  CopyTileFunction copy_ = CopyTileFor(sizeof(T));
};

// For groups that are left from a loop before: where these lie scattered, they are worked on one by
// one.
template <typename Tile, typename T, bool kMany>
class SelectedTile : public VectorTile<Tile, T> {
 public:
  static constexpr bool kByVectors = kMany;
  static constexpr int64_t kColumns = kMany ? 256 : 1;
};

}  // namespace dmlop
