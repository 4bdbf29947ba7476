// SPDX-License-Identifier: Apache-2.0
// Walks tiles of columns a few rows at a time, for kernel sources.
#if defined(DMLOP_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_COLUMNS_INL_H_
#undef DMLOP_KERNELS_COLUMNS_INL_H_
#else
#define DMLOP_KERNELS_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/reduce/next_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

constexpr int64_t kRowsOfBlock = 64;

// The part of a block that some rows form.
enum class BlockPart { kFirst, kMiddle, kLast, kWhole };

constexpr bool Begins(BlockPart part) {
  return part == BlockPart::kFirst || part == BlockPart::kWhole;
}
constexpr bool Ends(BlockPart part) {
  return part == BlockPart::kLast || part == BlockPart::kWhole;
}

// Calls body(rows, part) for all rows in ascending order, a few at a time.
template <typename T, typename Body>
HWY_INLINE void ForEachFewRows(const T* x, int64_t rows, int64_t row_stride, Body&& body) {
  for (int64_t row = 0; row < rows; row += kFewRows) {
    const int64_t block = row / kRowsOfBlock * kRowsOfBlock;
    const int64_t end = HWY_MIN(block + kRowsOfBlock, rows);
    // Rows too few to be taken together form a block of their own.
    const int64_t last = block + HWY_MAX((end - block) / kFewRows - 1, 0) * kFewRows;
    const int64_t count = HWY_MIN(kFewRows, end - row);
    const BlockPart part = row > last || block == last ? BlockPart::kWhole
                           : row == block              ? BlockPart::kFirst
                           : row < last                ? BlockPart::kMiddle
                                                       : BlockPart::kLast;
    body(FewRows<T>{x + row * row_stride, count, row_stride, row, rows - row - count}, part);
  }
}

// Calls vector(rows, c) for `lanes` columns from c on, and single(rows, c) for each remaining
// column; `rows` are a few rows from column c on.
template <typename T, typename Vector, typename Single>
HWY_INLINE void ForEachColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                               int64_t lanes, Vector&& vector, Single&& single) {
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    int64_t c = 0;
    for (; c + kLine<T> <= columns; c += kLine<T>) {
      next.Prefetch(kLine<T>);
      for (int64_t k = c; k < c + kLine<T>; k += lanes) vector(few.From(k), k);
    }
    for (; c + lanes <= columns; c += lanes) vector(few.From(c), c);
    for (; c < columns; ++c) single(few.From(c), c);
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
