// SPDX-License-Identifier: Apache-2.0
// Transposes tiles, whose rows are the source's columns. Included by kernel sources after
// foreach_target.h, once for each instruction set.

#if defined(DMLOP_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_TRANSPOSE_INL_H_
#undef DMLOP_TRANSPOSE_INL_H_
#else
#define DMLOP_TRANSPOSE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "core/kernels/copy/copy.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Transposes rows [row_begin, row_end) of the tile, element by element.
template <typename T>
void TransposeRows(const CopyTile& tile, int64_t row_begin, int64_t row_end, T* to, const T* from) {
  for (int64_t row = row_begin; row < row_end; ++row) {
    for (int64_t i = 0; i < tile.inner_count; ++i) {
      to[row * tile.to_outer_stride + i] = from[i * tile.from_inner_stride + row];
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

template <typename T>
void Transpose(const CopyTile& tile, T* to, const T* from) {
  TransposeRows(tile, 0, tile.outer_count, to, from);
}

#else

// A block is square, with one vector of 16 bytes for each row. Wider vectors gain nothing: memory
// is the bottleneck.
template <typename T>
inline constexpr int64_t kSide = 16 / sizeof(T);

// Source row i of the block begins at from + min(i, last) * from_stride: if the block has fewer
// rows, the last one is repeated.
template <typename T>
HWY_INLINE void TransposeBlock(T* to, int64_t to_stride, const T* from, int64_t from_stride,
                               int64_t last) {
  constexpr int64_t kN = kSide<T>;
  const hn::Full128<T> d;
  hn::Vec<hn::Full128<T>> rows[kN];
  for (int64_t i = 0; i < kN; ++i) rows[i] = hn::LoadU(d, from + std::min(i, last) * from_stride);
  // Shuffling the rows like two halves of a pack of cards, log2(kN) times, is a transposition.
  for (int64_t round = 1; round < kN; round *= 2) {
    hn::Vec<hn::Full128<T>> shuffled[kN];
    for (int64_t i = 0; i < kN / 2; ++i) {
      shuffled[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + kN / 2]);
      shuffled[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + kN / 2]);
    }
    for (int64_t i = 0; i < kN; ++i) rows[i] = shuffled[i];
  }
  for (int64_t i = 0; i < kN; ++i) hn::StoreU(rows[i], d, to + i * to_stride);
}

// Covers `rows` x `columns` of the destination, neither smaller than a block's side, with blocks;
// the last ones overlap those before them. The source is read along its lines.
template <typename T>
void TransposeBlocks(int64_t rows, int64_t columns, T* to, int64_t to_stride, const T* from,
                     int64_t from_stride) {
  constexpr int64_t kN = kSide<T>;
  for (int64_t c = 0; c < columns; c += kN) {
    const int64_t column = std::min(c, columns - kN);
    for (int64_t r = 0; r < rows; r += kN) {
      const int64_t row = std::min(r, rows - kN);
      TransposeBlock(to + row * to_stride + column, to_stride, from + column * from_stride + row,
                     from_stride, kN);
    }
  }
}

// Transposes into adjacent rows of two to four elements. There must be at least as many rows as a
// vector has lanes.
template <int64_t kColumns, typename T>
void TransposeIntoTuples(const CopyTile& tile, T* to, const T* from) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < tile.outer_count; r += lanes) {
    const int64_t row = std::min(r, tile.outer_count - lanes);
    hn::Vec<decltype(d)> columns[4];
    for (int64_t i = 0; i < kColumns; ++i) {
      columns[i] = hn::LoadU(d, from + i * tile.from_inner_stride + row);
    }
    T* tuples = to + kColumns * row;
    if constexpr (kColumns == 2) hn::StoreInterleaved2(columns[0], columns[1], d, tuples);
    if constexpr (kColumns == 3) {
      hn::StoreInterleaved3(columns[0], columns[1], columns[2], d, tuples);
    }
    if constexpr (kColumns == 4) {
      hn::StoreInterleaved4(columns[0], columns[1], columns[2], columns[3], d, tuples);
    }
  }
}

// Transposes into adjacent rows shorter than a block. Each is written as a whole vector, and the
// next row overwrites the surplus.
template <typename T>
void TransposeIntoNarrowRows(const CopyTile& tile, T* to, const T* from) {
  constexpr int64_t kN = kSide<T>;
  const int64_t columns = tile.inner_count;
  if (tile.outer_count >= static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()))) {
    if (columns == 2) return TransposeIntoTuples<2>(tile, to, from);
    if (columns == 3) return TransposeIntoTuples<3>(tile, to, from);
    if (columns == 4) return TransposeIntoTuples<4>(tile, to, from);
  }
  const int64_t whole_rows = tile.outer_count - (kN - 1) / columns;  // where a whole vector fits
  if (whole_rows < kN) return TransposeRows(tile, 0, tile.outer_count, to, from);
  for (int64_t r = 0; r < whole_rows; r += kN) {
    const int64_t row = std::min(r, whole_rows - kN);
    TransposeBlock(to + row * columns, columns, from + row, tile.from_inner_stride, columns - 1);
  }
  TransposeRows(tile, whole_rows, tile.outer_count, to, from);
}

// Transposes source rows of two to four adjacent elements.
template <int64_t kRows, typename T>
void TransposeFromTuples(const CopyTile& tile, T* to, const T* from) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t column = 0;
  for (; column + lanes <= tile.inner_count; column += lanes) {
    hn::Vec<decltype(d)> rows[4];
    const T* tuples = from + kRows * column;
    for (int64_t row = 0; row < kRows; ++row) hwy::Prefetch(tuples + (kRows * 4 + row) * lanes);
    if constexpr (kRows == 2) hn::LoadInterleaved2(d, tuples, rows[0], rows[1]);
    if constexpr (kRows == 3) hn::LoadInterleaved3(d, tuples, rows[0], rows[1], rows[2]);
    if constexpr (kRows == 4) hn::LoadInterleaved4(d, tuples, rows[0], rows[1], rows[2], rows[3]);
    for (int64_t row = 0; row < kRows; ++row) {
      hn::StoreU(rows[row], d, to + row * tile.to_outer_stride + column);
    }
  }
  CopyTile rest = tile;
  rest.inner_count -= column;
  TransposeRows(rest, 0, kRows, to + column, from + kRows * column);
}

// Transposes adjacent source rows shorter than a block. Each is read as a whole vector as long as
// that stays inside the source.
template <typename T>
void TransposeFromNarrowRows(const CopyTile& tile, T* to, const T* from) {
  constexpr int64_t kN = kSide<T>;
  const int64_t rows = tile.outer_count;
  const int64_t step = tile.from_inner_stride;
  if (step == rows) {
    if (rows == 2) return TransposeFromTuples<2>(tile, to, from);
    if (rows == 3) return TransposeFromTuples<3>(tile, to, from);
    if (rows == 4) return TransposeFromTuples<4>(tile, to, from);
  }
  const hn::Full128<T> d;
  alignas(16) T block[kN * kN];
  int64_t column = 0;
  for (; (column + kN - 1) * step + kN <= (tile.inner_count - 1) * step + rows; column += kN) {
    TransposeBlock(block, kN, from + column * step, step, kN);
    for (int64_t row = 0; row < rows; ++row) {
      hn::StoreU(hn::Load(d, block + row * kN), d, to + row * tile.to_outer_stride + column);
    }
  }
  CopyTile rest = tile;
  rest.inner_count -= column;
  TransposeRows(rest, 0, rows, to + column, from + column * step);
}

template <typename T>
void Transpose(const CopyTile& tile, T* to, const T* from) {
  constexpr int64_t kN = kSide<T>;
  if (tile.outer_count >= kN && tile.inner_count >= kN) {
    TransposeBlocks(tile.outer_count, tile.inner_count, to, tile.to_outer_stride, from,
                    tile.from_inner_stride);
  } else if (tile.inner_count < kN && tile.to_outer_stride == tile.inner_count) {
    TransposeIntoNarrowRows(tile, to, from);
  } else if (tile.outer_count < kN && tile.from_inner_stride > 0) {
    TransposeFromNarrowRows(tile, to, from);
  } else {
    TransposeRows(tile, 0, tile.outer_count, to, from);
  }
}

#endif

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
