// SPDX-License-Identifier: Apache-2.0
// A few rows of a tile, and prefetches of the next ones, for kernel sources.
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

#include "core/base/integers.h"
#include "core/kernels/simd/isa.h"
#include "core/kernels/simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Number of rows that are taken together, so that the state of a column is loaded and stored less
// often.
constexpr int64_t kFewRows = 8;

// Number of elements in a cache line.
template <typename T>
constexpr int64_t kLine = kLineBytes / static_cast<int64_t>(sizeof(T));

// At most kFewRows rows, `stride` elements apart; `number` is that of the first one, and `left` is
// the number of rows after them.
template <typename T>
struct FewRows {
  const T* first;
  int64_t count;
  int64_t stride;
  int64_t number;
  int64_t left;

  // Returns the same rows from column c on.
  HWY_INLINE FewRows From(int64_t c) const { return {first + c, count, stride, number, left}; }

  // Packs the elements of the first column.
  HWY_INLINE void Pack(T* column) const {
    for (int64_t row = 0; row < count; ++row) column[row] = first[row * stride];
  }

  // Returns the next rows.
  HWY_INLINE FewRows Next() const {
    const int64_t next = HWY_MIN(left, kFewRows);
    return {first + count * stride, next, stride, number + count, left - next};
  }
};

// Prefetches the next rows while some are worked on, in the way that suits the processor.
template <typename T>
class NextRows {
 public:
  HWY_INLINE NextRows(const FewRows<T>& rows, int64_t columns) {
    const FewRows<T> next = rows.Next();
    const Prefetches way = WayFor(columns * static_cast<int64_t>(sizeof(T)));
    if (way == Prefetches::kNextRows) {
      // All next rows are prefetched one after another. So memory sees a single stream, and the
      // rows that are read in parallel are in the second-level cache.
      now_ = {next.first, LinesIn(columns), kLine<T>, next.count, next.stride};
    } else if (way == Prefetches::kLines) {
      // A line of each row is prefetched a little before it is read, and at the end of these rows
      // the lines of the next ones.
      const int64_t ahead = HWY_MIN(8 * kLine<T>, columns);
      now_ = {rows.first + ahead, rows.count, rows.stride, LinesIn(columns - ahead), kLine<T>};
      later_ = {next.first, next.count, next.stride, LinesIn(ahead), kLine<T>};
      is_for_first_cache_ = true;
    }
    Begin();
  }

  // Prefetches as much as the rows have in `width` columns. Spreading prefetches over the work
  // avoids that reads wait for many of them at once.
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
  // Rounds of `count` lines each.
  struct Lines {
    const T* first;
    int64_t count, step;
    int64_t rounds, round_step;
  };

  static int64_t LinesIn(int64_t columns) { return CeilDiv(columns, kLine<T>); }

  // AMD processors without AVX-512 prefetch rows longer than a page by themselves. Such rows are
  // often a power of two apart, so that few fit into their second-level cache (Zen 3: MIN of rows
  // of 32 KiB runs at 14 GB/s with prefetches, 18 GB/s without).
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
  int64_t left_ = 0;  // lines left in this round
  bool is_for_first_cache_ = false;
  Lines now_{}, later_{};
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
