// A few rows of a tile, and how memory is told which come next, for kernel sources: included once
// for each instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_NEXT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_NEXT_ROWS_INL_H_
#undef DMLOP_KERNELS_NEXT_ROWS_INL_H_
#else
#define DMLOP_KERNELS_NEXT_ROWS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/simd/isa.h"
#include "core/kernels/simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Rows that are taken together, so that what is known of a column is loaded and stored less often.
constexpr int64_t kFewRows = 8;

// Elements of a line of the cache.
template <typename T>
constexpr int64_t kLine = kLineBytes / static_cast<int64_t>(sizeof(T));

// At most kFewRows rows, `stride` elements apart; `number` is that of the first one, and `left` are
// the rows whose turn is later.
template <typename T>
struct FewRows {
  const T* first;
  int64_t count;
  int64_t stride;
  int64_t number;
  int64_t left;

  // The same rows from column c on.
  HWY_INLINE FewRows From(int64_t c) const { return {first + c, count, stride, number, left}; }

  // Puts the first column's elements side by side.
  HWY_INLINE void Pack(T* column) const {
    for (int64_t row = 0; row < count; ++row) column[row] = first[row * stride];
  }

  // Those that come next.
  HWY_INLINE FewRows Next() const {
    const int64_t next = HWY_MIN(left, kFewRows);
    return {first + count * stride, next, stride, number + count, left - next};
  }
};

// Prefetches all of the next rows, one line after another. Memory so sees one stream, and the rows
// that are read side by side are in the second-level cache.
template <typename T>
class WholeNextRows {
 public:
  HWY_INLINE WholeNextRows(const FewRows<T>& rows, int64_t columns)
      : at_(rows.Next().first),
        end_(at_ + columns),
        gap_(rows.stride - columns),
        columns_(columns),
        rows_(rows.Next().count) {}

  // As many elements as rows have in `width` columns. Such prefetches are spread over the work, as
  // what is read waits for many that come at once.
  HWY_INLINE void Prefetch(int64_t width) {
    for (elements_ += width * kFewRows; elements_ >= kLine<T>; elements_ -= kLine<T>) {
      if (rows_ > 0) PrefetchNextLine();
    }
  }

 private:
  HWY_INLINE void PrefetchNextLine() {
    PrefetchLine(at_);
    at_ += kLine<T>;
    if (at_ < end_) return;
    at_ = end_ + gap_;
    end_ = at_ + columns_;
    --rows_;
  }

  const T* at_;
  const T* end_;
  int64_t gap_, columns_;
  int64_t rows_;
  int64_t elements_ = 0;  // to be prefetched
};

// Prefetches a line of each row a little before it is read; where rows end, of the next ones.
template <typename T>
class LinesAhead {
 public:
  HWY_INLINE LinesAhead(const FewRows<T>& rows, int64_t columns)
      : rows_(rows), columns_(columns), at_(HWY_MIN(kAhead, columns)) {}

  // While `width` columns are worked on.
  HWY_INLINE void Prefetch(int64_t width) {
    for (worked_on_ += width; worked_on_ >= kLine<T>; worked_on_ -= kLine<T>) PrefetchOfEachRow();
  }

 private:
  static constexpr int64_t kAhead = 8 * kLine<T>;

  HWY_INLINE void PrefetchOfEachRow() {
    const bool are_next = at_ >= columns_;
    const FewRows<T> rows = are_next ? rows_.Next().From(at_ - columns_) : rows_.From(at_);
    for (int64_t row = 0; row < rows.count; ++row) hwy::Prefetch(rows.first + row * rows.stride);
    at_ += kLine<T>;
  }

  FewRows<T> rows_;
  int64_t columns_;
  int64_t at_;
  int64_t worked_on_ = 0;  // columns, since the last prefetch
};

// Prefetches rows that come next while some are worked on, in the way that the processor likes.
template <typename T>
class NextRows {
 public:
  HWY_INLINE NextRows(const FewRows<T>& rows, int64_t columns)
      : way_(WayFor(columns * static_cast<int64_t>(sizeof(T)))),
        lines_(rows, columns),
        whole_(rows, columns) {}

  // While `width` columns are worked on.
  HWY_INLINE void Prefetch(int64_t width) {
    if (way_ == Prefetches::kLines) lines_.Prefetch(width);
    if (way_ == Prefetches::kNextRows) whole_.Prefetch(width);
  }

 private:
  // Those of AMD without AVX-512 see the rest of rows that are longer than a page by themselves.
  // Such rows are often a power of two apart, so that few fit in a second-level cache like theirs
  // (Zen 3: MIN of rows of 32 KiB 14 GB/s with prefetches, 18 without).
  static Prefetches WayFor(int64_t bytes) {
    if (ReadsSeveralStreams()) return Prefetches::kLines;
    const bool takes_rows = HWY_TARGET <= HWY_AVX3 || bytes <= kPageBytes;
    return takes_rows ? Prefetches::kNextRows : Prefetches::kNothing;
  }

  Prefetches way_;
  LinesAhead<T> lines_;
  WholeNextRows<T> whole_;
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
