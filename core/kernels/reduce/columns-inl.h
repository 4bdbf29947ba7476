// SPDX-License-Identifier: Apache-2.0
// Reads rows of adjacent elements a block at a time, and walks tiles of columns a few rows at a
// time, for kernel sources.
#if defined(DMLOP_KERNELS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_COLUMNS_INL_H_
#undef DMLOP_KERNELS_COLUMNS_INL_H_
#else
#define DMLOP_KERNELS_COLUMNS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/reduce/next_rows-inl.h"
#include "core/kernels/simd/isa.h"
#include "core/kernels/simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// A row is read as `streams` parallel streams with prefetches `ahead_bytes` ahead of each, or
// if that is 0 as a single one without prefetches.
struct RowReading {
  int64_t streams;
  int64_t ahead_bytes;

  static RowReading For(int64_t bytes) {
    constexpr int64_t kMostStreams = 4;
    if (ReadsSeveralStreams() && bytes >= kMostStreams << 11) return {kMostStreams, 1 << 10};
    // Other processors with AVX-512, AMD's, read a single stream as fast as memory can.
    if (HWY_TARGET <= HWY_AVX3) return {1, 0};
    // Older ones are faster with a few streams (Zen 3: by a quarter), if none ends before its
    // prefetches, and if what both threads of a core prefetch leaves room for the rest in the
    // first-level cache.
    constexpr int64_t kLeastBytes = 1 << 13;  // a stream's least length
    constexpr int64_t kAllAhead = 1 << 11;
    const int64_t streams = HWY_MIN(HWY_MAX(bytes / kLeastBytes, 1), kMostStreams);
    return {streams, kAllAhead / streams};
  }
};

// Calls body(x) for the blocks of a few streams in turn. Near its end, a stream prefetches where
// the next row has that stream, if rows are adjacent.
template <typename T, typename Body>
HWY_INLINE int64_t ForEachBlockOfStreams(const T* x, int64_t count, int64_t block,
                                         const RowReading& reading, Body&& body) {
  constexpr int64_t kSize = static_cast<int64_t>(sizeof(T));
  const int64_t streams = reading.streams;
  const int64_t length = count / (streams * block) * block;
  const int64_t ahead = reading.ahead_bytes / kSize;
  for (int64_t i = 0; i < length; i += block) {
    const int64_t later = i + ahead < length ? ahead : ahead + count - length;
    for (int64_t s = 0; s < streams; ++s) {
      const T* from = x + s * length + i;
      for (int64_t k = 0; k < block; k += kLineBytes / kSize) hwy::Prefetch(from + later + k);
      body(from);
    }
  }
  return streams * length;
}

// Calls body(x) for blocks of `block` elements, in an order that suits memory. Returns the number
// of elements in them, all but the last few.
template <typename T, typename Body>
HWY_INLINE int64_t ForEachBlock(const T* x, int64_t count, int64_t block, Body&& body) {
  const RowReading reading = RowReading::For(count * static_cast<int64_t>(sizeof(T)));
  if (reading.ahead_bytes > 0) return ForEachBlockOfStreams(x, count, block, reading, body);
  const int64_t length = count / block * block;
  for (const T* from = x; from < x + length; from += block) body(from);
  return length;
}

// --- columns -------------------------------------------------------------------------------------

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
