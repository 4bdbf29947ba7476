// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/pack.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/pack.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/matrix/widen_row-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/prefetch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

inline bool AreNeighbours(const int64_t* offsets, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    if (offsets[i] != offsets[0] + i) return false;
  }
  return true;
}

inline int64_t InnerOffset(const PackCall& call, int64_t k) {
  return call.inner == nullptr ? k : call.inner[k];
}

// Packs lines that are adjacent in memory, and prefetches those that come next.
template <typename T>
void PackAcross(const PackCall& call) {
  const T* from = reinterpret_cast<const T*>(call.data) + call.lines[0];
  const int64_t bytes = call.line_count * static_cast<int64_t>(sizeof(T));
  for (int64_t k = 0; k < call.depth; ++k) {
    PrefetchLines(reinterpret_cast<const std::byte*>(from + call.inner[k]) + bytes, bytes);
    WidenRow(from + call.inner[k], call.line_count, call.to + k * call.width);
  }
}

template <typename T>
void PackEach(const PackCall& call) {
  for (int64_t k = 0; k < call.depth; ++k) {
    const T* from = reinterpret_cast<const T*>(call.data) + InnerOffset(call, k);
    for (int64_t i = 0; i < call.line_count; ++i) {
      call.to[k * call.width + i] = WidenElement(from[call.lines[i]]);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

template <typename T>
void PackBlocks(const PackCall& call) {
  PackEach<T>(call);
}

#else

constexpr int64_t kBlockSide = 4;
using Block = hn::FixedTag<float, kBlockSide>;

HWY_INLINE void StoreWidened(hn::Vec<Block> x, double* to) {
#if HWY_MAX_BYTES >= 32
  const hn::FixedTag<double, kBlockSide> d;
  hn::StoreU(hn::PromoteTo(d, x), d, to);
#else
  const hn::FixedTag<double, kBlockSide / 2> d;
  const hn::Half<Block> half;
  hn::StoreU(hn::PromoteTo(d, hn::LowerHalf(half, x)), d, to);
  hn::StoreU(hn::PromoteTo(d, hn::UpperHalf(half, x)), d, to + kBlockSide / 2);
#endif
}

// Packs as many elements as lines.
template <typename T>
HWY_INLINE void PackBlock(const T* from, const int64_t* lines, double* to, int64_t width) {
  const Block d;
  const auto line0 = LoadFloats(d, from + lines[0]);
  const auto line1 = LoadFloats(d, from + lines[1]);
  const auto line2 = LoadFloats(d, from + lines[2]);
  const auto line3 = LoadFloats(d, from + lines[3]);
  const auto lower02 = hn::InterleaveLower(d, line0, line2);
  const auto lower13 = hn::InterleaveLower(d, line1, line3);
  const auto upper02 = hn::InterleaveUpper(d, line0, line2);
  const auto upper13 = hn::InterleaveUpper(d, line1, line3);
  StoreWidened(hn::InterleaveLower(d, lower02, lower13), to);
  StoreWidened(hn::InterleaveUpper(d, lower02, lower13), to + width);
  StoreWidened(hn::InterleaveLower(d, upper02, upper13), to + 2 * width);
  StoreWidened(hn::InterleaveUpper(d, upper02, upper13), to + 3 * width);
}

// The last blocks overlap those before them. Prefetches the elements that come next.
template <typename T>
void PackBlocks(const PackCall& call) {
  if (call.line_count < kBlockSide || call.depth < kBlockSide) return PackEach<T>(call);
  const T* from = reinterpret_cast<const T*>(call.data) + InnerOffset(call, 0);
  const int64_t bytes = call.depth * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < call.line_count; ++i) {
    PrefetchLines(reinterpret_cast<const std::byte*>(from + call.lines[i]) + bytes, bytes);
  }
  for (int64_t i = 0; i < call.line_count; i += kBlockSide) {
    const int64_t line = HWY_MIN(i, call.line_count - kBlockSide);
    for (int64_t k = 0; k < call.depth; k += kBlockSide) {
      const int64_t element = HWY_MIN(k, call.depth - kBlockSide);
      PackBlock(from + element, call.lines + line, call.to + element * call.width + line,
                call.width);
    }
  }
}

#endif

// Packs lines whose elements are adjacent.
template <typename T>
void PackAlong(const PackCall& call) {
  if (call.width > 1) return PackBlocks<T>(call);
  WidenRow(reinterpret_cast<const T*>(call.data) + call.lines[0] + InnerOffset(call, 0), call.depth,
           call.to);
}

template <typename T>
void Pack(const PackCall& call) {
  for (int64_t k = 0; k < call.depth && call.line_count < call.width; ++k) {
    std::fill(call.to + k * call.width + call.line_count, call.to + (k + 1) * call.width, 0.0);
  }
  if (call.inner == nullptr) {
    PackAlong<T>(call);
  } else if (call.line_count > 1 && AreNeighbours(call.lines, call.line_count)) {
    PackAcross<T>(call);
  } else if (AreNeighbours(call.inner, call.depth)) {
    PackAlong<T>(call);
  } else {
    PackEach<T>(call);
  }
}

void PackFloats(const PackCall& call) {
  Pack<float>(call);
}
void PackHalves(const PackCall& call) {
  Pack<Half>(call);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

PackFunction* PackFunctionFor(DataType type) {
  return type == DataType::kFloat16 ? DMLOP_CHOOSE(PackHalves) : DMLOP_CHOOSE(PackFloats);
}

}  // namespace dmlop
#endif
