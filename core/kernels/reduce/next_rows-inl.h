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
#include <utility>

#include "core/base/integer_division.h"
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

// Prefetches rows that come next while some are worked on, in the way that the processor likes.
template <typename T>
class NextRows {
 public:
  HWY_INLINE NextRows(const FewRows<T>& rows, int64_t columns) {
    const FewRows<T> next = rows.Next();
    const Prefetches way = WayFor(columns * static_cast<int64_t>(sizeof(T)));
    if (way == Prefetches::kNextRows) {
      // All of the next rows, one line after another. Memory so sees one stream, and the rows that
      // are read side by side are in the second-level cache.
      now_ = {next.first, LinesIn(columns), kLine<T>, next.count, next.stride};
    } else if (way == Prefetches::kLines) {
      // A line of each row a little before it is read; where rows end, of the next ones.
      const int64_t ahead = HWY_MIN(8 * kLine<T>, columns);
      now_ = {rows.first + ahead, rows.count, rows.stride, LinesIn(columns - ahead), kLine<T>};
      later_ = {next.first, next.count, next.stride, LinesIn(ahead), kLine<T>};
      is_for_first_cache_ = true;
    }
    Begin();
  }

  // While `width` columns are worked on: as much as rows have in them. Such prefetches are spread
  // over the work, as what is read waits for many that come at once.
  HWY_INLINE void Prefetch(int64_t width) {
    for (int64_t i = 0; i < width * kFewRows && left_ > 0; i += kLine<T>) {
      if (is_for_first_cache_) {
        hwy::Prefetch(at_);
      } else {
        PrefetchLine(at_);
      }
      at_ += step_;
      if (--left_ == 0) BeginRound();
    }
  }

 private:
  // Rounds of `count` lines.
  struct Lines {
    const T* first;
    int64_t count, step;
    int64_t rounds, round_step;
  };

  static int64_t LinesIn(int64_t columns) { return CeilDiv(columns, kLine<T>); }

  // Those of AMD without AVX-512 see the rest of rows that are longer than a page by themselves.
  // Such rows are often a power of two apart, so that few fit in a second-level cache like theirs
  // (Zen 3: MIN of rows of 32 KiB 14 GB/s with prefetches, 18 without).
  static Prefetches WayFor(int64_t bytes) {
    if (ReadsSeveralStreams()) return Prefetches::kLines;
    const bool takes_rows = HWY_TARGET <= HWY_AVX3 || bytes <= kPageBytes;
    return takes_rows ? Prefetches::kNextRows : Prefetches::kNothing;
  }

  HWY_INLINE void Begin() {
    if (now_.rounds == 0) now_ = std::exchange(later_, Lines{});
    at_ = now_.first;
    step_ = now_.step;
    left_ = now_.rounds > 0 ? now_.count : 0;
  }

  HWY_INLINE void BeginRound() {
    --now_.rounds;
    now_.first += now_.round_step;
    Begin();
  }

  const T* at_ = nullptr;
  int64_t step_ = 0;
  int64_t left_ = 0;  // of this round
  bool is_for_first_cache_ = false;
  Lines now_{}, later_{};
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
