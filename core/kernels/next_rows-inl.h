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

#include "core/kernels/isa.h"
#include "core/kernels/prefetch.h"

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
  int64_t step = 1;         // from one of the rows to the next, in rows
  const T* next = nullptr;  // the first of the rows whose turn is next, if there are some left

  // The same rows from column c on.
  HWY_INLINE FewRows From(int64_t c) const {
    return {first + c, count, stride, number, left, step, next};
  }

  // Puts the first column's elements side by side.
  HWY_INLINE void Gather(T* column) const {
    for (int64_t row = 0; row < count; ++row) column[row] = first[row * stride];
  }

  HWY_INLINE int64_t NextCount() const { return HWY_MIN(left, kFewRows); }
};

// Asks for all of the next rows, one line after another. Memory so sees one stream, and the rows
// that are read side by side are in the second-level cache.
template <typename T>
class WholeNextRows {
 public:
  HWY_INLINE WholeNextRows(const FewRows<T>& rows, int64_t columns)
      : at_(rows.next),
        end_(at_ + columns),
        gap_(rows.stride - columns),
        columns_(columns),
        rows_(rows.NextCount()) {}

  // While a line of each row is worked on.
  HWY_INLINE void Ask() {
    for (int64_t i = 0; i < kFewRows && rows_ > 0; ++i) {
      AskForLine(at_);
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

// Asks for what rows begin with, and the pages in them, as memory that is read by turns wants it.
template <typename T>
class StreamStarts {
 public:
  HWY_INLINE StreamStarts(const FewRows<T>& rows, int64_t columns)
      : rows_(rows), end_(rows.first + columns / kLine<T> * kLine<T>) {
    const int64_t lines = columns / kLine<T>;
    parts_at_once_ = lines >= kParts ? 1 : lines >= kParts / 2 ? 2 : 0;
    // Stretches end where the rows do.
    const int64_t first_lines = (lines - 1) % kParts + 1;
    part_ = HWY_MAX(kParts - first_lines * parts_at_once_, 0);
    SetStretch(rows.first + first_lines * kLine<T>);
  }

  // While a line of each row is worked on.
  HWY_INLINE void Ask() {
    for (int64_t i = 0; i < parts_at_once_; ++i) AskForPart();
  }

 private:
  // While a stretch of rows is worked on, the starts in the next one are asked for, a part for each
  // line. Rows that are shorter have half as many lines, or are not worth it.
  static constexpr int64_t kParts = kStartAhead / kLineBytes;

  HWY_INLINE void AskForPart() {
    constexpr int64_t kPartsOfRow = kParts / kFewRows;
    const int64_t row = part_ / kPartsOfRow;
    if (row < rows_.count) AskInRow(at_ + row * rows_.stride, part_ % kPartsOfRow);
    if (++part_ < kParts) return;
    part_ = 0;
    SetStretch(at_ + kParts * kLine<T>);
  }

  HWY_INLINE void SetStretch(const T* at) {
    at_ = at;
    begins_rows_ = at >= end_;
    if (!begins_rows_) return;
    at_ = rows_.next;
    rows_.count = rows_.NextCount();
    rows_.left = 0;
  }

  HWY_INLINE void AskInRow(const T* stretch, int64_t part) const {
    constexpr int64_t kPartBytes = kStartBytes * kFewRows / kParts;
    const int64_t start = begins_rows_ ? 0 : (kPageBytes - BytesIntoPage(stretch)) % kPageBytes;
    if (start >= kStartAhead) return;
    const std::byte* bytes = reinterpret_cast<const std::byte*>(stretch);
    AskForLines(bytes + start + part * kPartBytes, kPartBytes);
  }

  FewRows<T> rows_;
  const T* end_;  // of the first row
  const T* at_;   // the first row's part of the stretch that is asked for
  bool begins_rows_;
  int64_t part_;
  int64_t parts_at_once_;
};

// Asks for a line of each row a little before it is read; where rows end, for the next ones.
template <typename T>
class LinesAhead {
 public:
  HWY_INLINE LinesAhead(const FewRows<T>& rows, int64_t columns)
      : rows_(rows), columns_(columns), at_(HWY_MIN(kAhead, columns)) {}

  // While a line of each row is worked on.
  HWY_INLINE void Ask() {
    const bool are_next = at_ >= columns_;
    const T* line = are_next ? rows_.next + (at_ - columns_) : rows_.first + at_;
    const int64_t count = are_next ? rows_.NextCount() : rows_.count;
    for (int64_t row = 0; row < count; ++row) hwy::Prefetch(line + row * rows_.stride);
    at_ += kLine<T>;
  }

 private:
  static constexpr int64_t kAhead = 8 * kLine<T>;

  FewRows<T> rows_;
  int64_t columns_;
  int64_t at_;
};

// Asks for rows that come next while some are worked on, in the way that the processor likes.
template <typename T>
class NextRows {
 public:
  HWY_INLINE NextRows(const FewRows<T>& rows, int64_t columns)
      : way_(WayFor(rows.step, columns * static_cast<int64_t>(sizeof(T)))),
        starts_(rows, columns),
        lines_(rows, columns),
        whole_(rows, columns) {}

  // While `width` columns are worked on.
  HWY_INLINE void Ask(int64_t width) {
    for (columns_ += width; columns_ >= kLine<T>; columns_ -= kLine<T>) {
      if (way_ == Asking::kStarts) starts_.Ask();
      if (way_ == Asking::kLines) lines_.Ask();
      if (way_ == Asking::kNextRows) whole_.Ask();
    }
  }

 private:
  // Those of AMD without AVX-512 see the rest of rows that are longer than a page by themselves.
  // Such rows are often a power of two apart, so that few fit in a second-level cache like theirs
  // (Zen 3: MIN of rows of 32 KiB 14 GB/s with asking, 18 without).
  static Asking WayFor(int64_t step, int64_t bytes) {
    if (ReadsQuickestWhenAsked()) return Asking::kLines;
    if (step > 1 || ReadsByTurns(bytes)) return Asking::kStarts;
    return HWY_TARGET <= HWY_AVX3 || bytes <= kPageBytes ? Asking::kNextRows : Asking::kNothing;
  }

  Asking way_;
  StreamStarts<T> starts_;
  LinesAhead<T> lines_;
  WholeNextRows<T> whole_;
  int64_t columns_ = 0;  // since lines were asked for
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
