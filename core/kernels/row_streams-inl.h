// Rows of neighbours in memory a block at a time, for kernel sources: included once for each
// instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_ROW_STREAMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ROW_STREAMS_INL_H_
#undef DMLOP_KERNELS_ROW_STREAMS_INL_H_
#else
#define DMLOP_KERNELS_ROW_STREAMS_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

#include "core/kernels/isa.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// How a row is read: at `streams` places by turns, of which each, where it `asks`, is told what
// comes next.
struct RowReading {
  int64_t streams;
  bool asks;

  // Others with AVX-512, AMD's, read one stream ahead as fast as memory can. Older ones are quicker
  // where long rows are a few streams (Zen 3: 20 GB/s a core instead of 11); in shorter rows each
  // would end before it is read ahead.
  static RowReading For(int64_t bytes) {
    constexpr int64_t kFewStreams = 4;
    constexpr int64_t kLongRowBytes = 1 << 18;
    for (int64_t streams = 8; streams > 0; streams /= 2) {
      if (ReadsByTurns(bytes / streams)) return {streams, false};
    }
    if (HWY_TARGET <= HWY_AVX3) return {1, false};
    return {bytes < kLongRowBytes ? 1 : kFewStreams, true};
  }
};

// Calls body(x) for blocks of `block` elements, in an order that suits memory. Returns how many
// elements that were, all but the last few. A stream asks for what it needs next; near its end that
// is where the next row has its stream, if rows follow each other.
template <typename T, typename Body>
HWY_INLINE int64_t ForEachBlock(const T* x, int64_t count, int64_t block, Body&& body) {
  constexpr int64_t kSize = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kAhead = (1 << 9) / kSize;
  const RowReading reading = RowReading::For(count * kSize);
  const int64_t streams = reading.streams;
  const int64_t length = count / (streams * block) * block;
  for (int64_t i = 0; i < length; i += block) {
    const int64_t ahead = i + kAhead < length ? kAhead : kAhead + count - length;
    for (int64_t s = 0; s < streams; ++s) {
      const T* from = x + s * length + i;
      if (reading.asks) {
        for (int64_t k = 0; k < block; k += 64 / kSize) hwy::Prefetch(from + ahead + k);
      }
      body(from);
    }
  }
  return streams * length;
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
