// Tiles of columns a few rows at a time, for kernel sources: included once for each instruction
// set, hence the unusual guard.
#if defined(DMLOP_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_COLUMNS_INL_H_
#undef DMLOP_KERNELS_COLUMNS_INL_H_
#else
#define DMLOP_KERNELS_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/isa.h"
#include "core/kernels/next_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

constexpr int64_t kRowsOfBlock = 64;

// Which part of a block some rows are.
enum class BlockPart { kFirst, kMiddle, kLast, kWhole };

constexpr bool Begins(BlockPart part) {
  return part == BlockPart::kFirst || part == BlockPart::kWhole;
}
constexpr bool Ends(BlockPart part) {
  return part == BlockPart::kLast || part == BlockPart::kWhole;
}

// How many rows of `bytes` lie between those that are taken together, so that each has as much to
// be read behind it as reading by turns takes. 1 where nothing is won.
inline int64_t RowStepFor(int64_t bytes) {
  if (ReadsQuickestWhenAsked()) return 1;
  for (int64_t step = 1; step <= kRowsOfBlock / kFewRows; step *= 2) {
    if (ReadsByTurns(step * bytes)) return step;
  }
  return 1;
}

enum class RowOrder { kAscending, kAny };

// Calls body(rows, part) for all rows, a few at a time. The last ones come last.
template <RowOrder kOrder = RowOrder::kAny, typename T, typename Body>
HWY_INLINE void ForEachFewRows(const T* x, int64_t rows, int64_t row_stride, Body&& body) {
  const int64_t row_bytes = row_stride * static_cast<int64_t>(sizeof(T));
  const int64_t whole_step = kOrder == RowOrder::kAny ? RowStepFor(row_bytes) : 1;
  for (int64_t block = 0; block < rows; block += kRowsOfBlock) {
    const int64_t end = HWY_MIN(block + kRowsOfBlock, rows);
    const int64_t step = end - block == kRowsOfBlock ? whole_step : 1;
    // Rows that are too few to be taken together are a block of their own.
    const int64_t last = block + HWY_MAX((end - block) / kFewRows - 1, 0) * kFewRows;
    for (int64_t row = block; row < end; row += kFewRows) {
      const int64_t count = HWY_MIN(kFewRows, end - row);
      const BlockPart part = row > last || block == last ? BlockPart::kWhole
                             : row == block              ? BlockPart::kFirst
                             : row < last                ? BlockPart::kMiddle
                                                         : BlockPart::kLast;
      const auto first_row = [&](int64_t turn) HWY_ATTR {
        return block + turn / step * step * kFewRows + turn % step;
      };
      const int64_t turn = (row - block) / kFewRows;
      const int64_t first = first_row(turn);
      const int64_t next = row + count < end ? first_row(turn + 1) : end;
      body(FewRows<T>{x + first * row_stride, count, step * row_stride, first, rows - row - count,
                      step, x + next * row_stride},
           part);
    }
  }
}

// Calls vector(rows, c) for `lanes` columns from c on, and single(rows, c) for each of the columns
// that are left over; rows are a few, and begin at column c.
template <typename T, typename Vector, typename Single>
HWY_INLINE void ForEachColumns(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                               int64_t lanes, Vector&& vector, Single&& single) {
  ForEachFewRows(x, rows, row_stride, [&](const FewRows<T>& few, BlockPart) HWY_ATTR {
    NextRows<T> next(few, columns);
    int64_t c = 0;
    for (; c + kLine<T> <= columns; c += kLine<T>) {
      next.Ask(kLine<T>);
      for (int64_t k = c; k < c + kLine<T>; k += lanes) vector(few.From(k), k);
    }
    for (; c + lanes <= columns; c += lanes) vector(few.From(c), c);
    for (; c < columns; ++c) single(few.From(c), c);
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
