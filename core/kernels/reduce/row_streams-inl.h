// SPDX-License-Identifier: Apache-2.0
// Reads rows of adjacent elements a block at a time, for kernel sources.
#if defined(DMLOP_KERNELS_ROW_STREAMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ROW_STREAMS_INL_H_
#undef DMLOP_KERNELS_ROW_STREAMS_INL_H_
#else
#define DMLOP_KERNELS_ROW_STREAMS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

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

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
