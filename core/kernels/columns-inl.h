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

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Rows that are taken together, so that what is known of a column is loaded and stored less often.
constexpr int64_t kFewRows = 8;
constexpr int64_t kRowsOfBlock = 64;

// Elements of a line of the cache.
template <typename T>
constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));

// At most kFewRows rows, `stride` elements apart; `number` is that of the first one, and `left` are
// the rows whose turn is later.
template <typename T>
struct FewRows {
  const T* first;
  int64_t count;
  int64_t stride;
  int64_t number;
  int64_t left;
  int64_t step = 1;  // from one of the rows to the next, in rows

  // The same rows from column c on.
  HWY_INLINE FewRows From(int64_t c) const {
    return {first + c, count, stride, number, left, step};
  }

  // Puts the first column's elements side by side.
  HWY_INLINE void Gather(T* column) const {
    for (int64_t row = 0; row < count; ++row) column[row] = first[row * stride];
  }
};

// Asks for the rows that come next while some are worked on, one line after another. Memory so sees
// one stream, and the rows that are read side by side are in the second-level cache. Nothing is
// asked for where rows by turns are quickest.
template <typename T>
class NextRows {
 public:
  HWY_INLINE NextRows(const FewRows<T>& rows, int64_t columns)
      : at_(rows.first + rows.count * rows.stride),
        end_(at_ + columns),
        gap_(rows.stride - columns),
        columns_(columns),
        rows_(HWY_MIN(rows.left, kFewRows)) {
    if (rows.step > 1 || ReadsByTurns(columns * static_cast<int64_t>(sizeof(T)))) rows_ = 0;
  }

  // Asks for as many elements as the rows that are worked on have in `width` columns.
  HWY_INLINE void Ask(int64_t width) {
    for (int64_t i = 0; i < width * kFewRows && rows_ > 0; i += kLine<T>) {
      __builtin_prefetch(at_, /*rw=*/0, /*locality: the second level*/ 2);
      at_ += kLine<T>;
      if (at_ < end_) continue;
      at_ = end_ + gap_;
      end_ = at_ + columns_;
      --rows_;
    }
  }

 private:
  const T* at_;
  const T* end_;
  int64_t gap_, columns_;
  int64_t rows_;
};

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
      const int64_t turn = (row - block) / kFewRows;
      const int64_t first = block + turn / step * step * kFewRows + turn % step;
      const int64_t left = rows - row - count;
      body(FewRows<T>{x + first * row_stride, count, step * row_stride, first, left, step}, part);
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
