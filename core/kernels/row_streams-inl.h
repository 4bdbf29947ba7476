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

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Processors with AVX-512 read one stream ahead as fast as memory can. Older ones are quicker where
// long rows are a few streams side by side (Zen 3: 20 GB/s a core instead of 11), and where they
// are told what comes next. In shorter rows each stream would end before it is read ahead.
constexpr bool kReadsAhead = HWY_TARGET <= HWY_AVX3;
constexpr int64_t kStreamsOfRow = 4;
constexpr int64_t kStreamedRowBytes = 1 << 18;
constexpr int64_t kBytesAhead = 1 << 9;

// Calls body(x) for blocks of `block` elements, in an order that suits memory. Returns how many
// elements that were, all but the last few. A stream asks for what it needs next; near its end that
// is where the next row has its stream, if rows follow each other.
template <typename T, typename Body>
HWY_INLINE int64_t ForEachBlock(const T* x, int64_t count, int64_t block, Body&& body) {
  constexpr int64_t kSize = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kAhead = kBytesAhead / kSize;
  const int64_t streams = kReadsAhead || count * kSize < kStreamedRowBytes ? 1 : kStreamsOfRow;
  const int64_t length = count / (streams * block) * block;
  for (int64_t i = 0; i < length; i += block) {
    const int64_t ahead = i + kAhead < length ? kAhead : kAhead + count - length;
    for (int64_t s = 0; s < streams; ++s) {
      const T* from = x + s * length + i;
      for (int64_t k = 0; k < block && !kReadsAhead; k += 64 / kSize) {
        hwy::Prefetch(from + ahead + k);
      }
      body(from);
    }
  }
  return streams * length;
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
