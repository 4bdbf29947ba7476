// SPDX-License-Identifier: Apache-2.0
// The common part of accumulators whose kernels take neighbours in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/memory.h"
#include "core/engine/copy/tile_shape.h"
#include "core/engine/reduce/reduce_loop.h"
#include "core/kernels/copy/copy.h"

namespace dmlop {

// Copies strided elements so that they lie side by side.
class ElementPacker {
 public:
  // `width` is the size of an element in bytes.
  explicit ElementPacker(size_t width)
      : width_(static_cast<int64_t>(width)), copy_(CopyTileFor(width)) {}

  // Packs the elements of a run.
  template <typename T>
  void Pack(const ElementRun<T>& run, T* to) const {
    copy_({1, run.count, 0, 1, 0, run.stride}, reinterpret_cast<std::byte*>(to),
          reinterpret_cast<const std::byte*>(run.first));
  }

  // Packs columns row by row.
  template <typename T>
  void Pack(const ColumnRun& columns, const ElementRun<T>& run, T* to) const {
    PackColumns(columns, run.count, run.stride, reinterpret_cast<std::byte*>(to),
                reinterpret_cast<const std::byte*>(run.first));
  }

 private:
  void PackColumns(const ColumnRun& columns, int64_t rows, int64_t row_stride, std::byte* to,
                   const std::byte* from) const {
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

  int64_t width_;
  CopyTileFunction copy_;
};

// Calls body(piece) for pieces of a run of `length` elements; the last one may be shorter.
template <typename T, typename Body>
void ForEachPiece(const ElementRun<T>& run, int64_t length, Body&& body) {
  for (int64_t i = 0; i < run.count; i += length) {
    body(ElementRun<T>{run.first + i * run.stride, std::min(length, run.count - i), run.stride,
                       run.number + i * run.number_step, run.number_step});
  }
}

// Implements AddRow and AddColumns by
//
//  AddNeighbours(o, x, count)                  consecutive elements of group o
//  AddRows(x, rows, row_stride, columns)       rows of neighbours, one for each of the first groups
//
// and, if it has kMinShortRow, the least length of a row for which this pays,
//
//  AddShortRows(o, rows, pitch, run)           `rows` runs, one for each group from o on, which
//                                              begin `pitch` elements apart
//
// Strided elements are first copied side by side. Accumulators that need the elements' numbers have
// AddPackedRow and AddPackedRows instead.
template <typename Derived, typename T>
class VectorAccumulators {
 public:
  static constexpr bool kByVectors = true;

  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride == 1) return derived().AddPackedRow(o, run);
    ForEachPiece(run, kPacked, [&](const ElementRun<T>& piece) {
      alignas(kLineBytes) T packed[kPacked];
      packer_.Pack(piece, packed);
      derived().AddPackedRow(o, {packed, piece.count, 1, piece.number, piece.number_step});
    });
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if constexpr (requires { Derived::kMinShortRow; }) {
      if (run.stride == 1 && run.count >= Derived::kMinShortRow) return AddShortRows(columns, run);
    }
    const bool is_regular = columns.loops == nullptr;
    if (is_regular && columns.count < kFewColumns && run.count >= kManyRows) {
      return AddFewColumns(columns, run);
    }
    if (is_regular && columns.stride == 1) return derived().AddPackedRows(columns.count, run);
    ForEachPiece(run, kPacked / columns.count, [&](const ElementRun<T>& piece) {
      alignas(kLineBytes) T packed[kPacked];
      packer_.Pack(columns, piece, packed);
      derived().AddPackedRows(
          columns.count, {packed, piece.count, columns.count, piece.number, piece.number_step});
    });
  }

  void AddPackedRow(int64_t o, const ElementRun<T>& run) {
    derived().AddNeighbours(o, run.first, run.count);
  }

  void AddPackedRows(int64_t columns, const ElementRun<T>& run) {
    derived().AddRows(run.first, run.count, run.stride, columns);
  }

 protected:
  static constexpr int64_t kPacked = kNearestBytes / sizeof(T);  // in elements

 private:
  static constexpr int64_t kFewColumns = 8;
  static constexpr int64_t kManyRows = 64;

  Derived& derived() { return static_cast<Derived&>(*this); }

  // Adds as many rows at a time as begin at a fixed stride.
  void AddShortRows(const ColumnRun& columns, ElementRun<T> run) {
    if (columns.loops == nullptr) {
      return derived().AddShortRows(0, columns.count, columns.stride, run);
    }
    LoopNest<ReducePlan::kColumnOperands> around = *columns.loops;
    const int64_t rows = std::exchange(around.sizes.back(), 1);
    const T* const first = run.first;
    Walk<ReducePlan::kColumnOperands> place(around, 0);
    for (int64_t i = Product(around.sizes); i > 0; --i, place.Next()) {
      run.first = first + place.offset(ReducePlan::kInMemory);
      derived().AddShortRows(place.offset(ReducePlan::kPlace), rows,
                             around.strides[ReducePlan::kInMemory].back(), run);
    }
  }

  // Adds columns one after another, in pieces whose lines are still cached for the next column.
  void AddFewColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    constexpr int64_t kRows = 1024;
    ForEachPiece(run, kRows, [&](ElementRun<T> piece) {
      for (int64_t o = 0; o < columns.count; ++o, piece.first += columns.stride) AddRow(o, piece);
    });
  }

  ElementPacker packer_{sizeof(T)};
};

}  // namespace dmlop
