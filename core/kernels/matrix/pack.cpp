// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/pack.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/pack.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/prefetch.h"
#include "core/kernels/window/stepped-inl.h"

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

// The last vector overlaps the one before it, instead of a remainder loop.
template <typename T>
HWY_INLINE void WidenRow(const T* from, int64_t count, double* to) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) to[i] = WidenElement(from[i]);
    return;
  }
  for (int64_t i = 0; i < count; i += lanes) {
    const int64_t at = HWY_MIN(i, count - lanes);
    hn::StoreU(LoadWide(from + at), Wide(), to + at);
  }
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

// --- windows -------------------------------------------------------------------------------------

// What elements of a type are packed as, and a vector of those.
template <typename T>
using Numbers = std::conditional_t<sizeof(T) == 1, hn::CappedTag<int16_t, 8>, Wide>;

HWY_INLINE int16_t WidenElement(int8_t x) {
  return x;
}
HWY_INLINE int16_t WidenElement(uint8_t x) {
  return x;
}

template <int64_t kStep, typename T>
HWY_INLINE hn::Vec<Numbers<T>> LoadNumbers(const T* from, int64_t step) {
  const Numbers<T> d;
  if constexpr (sizeof(T) == 1) {
    return hn::PromoteTo(d, LoadStepped<kStep>(hn::Rebind<T, Numbers<T>>(), from, step));
  } else {
    return hn::PromoteTo(d, LoadSteppedFloats<kStep>(hn::Rebind<float, Wide>(), from, step));
  }
}

// Widens the elements of each channel by kVectors vectors, of which the last may overlap the one
// before; by as many as it takes if kVectors is 0.
template <int64_t kVectors, int64_t kStep, typename T>
HWY_INLINE void WidenChannels(const WindowTapCall& call) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Numbers<T>()));
  const int64_t vectors = kVectors > 0 ? kVectors : (call.count + lanes - 1) / lanes;
  const int64_t last = call.count - lanes;
  const T* from = reinterpret_cast<const T*>(call.data);
  auto* to = static_cast<hn::TFromD<Numbers<T>>*>(call.to) + call.before;
  for (int64_t c = 0; c < call.channels; ++c, from += call.channel_stride, to += call.row) {
#pragma GCC unroll 3
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t at = v + 1 < vectors ? v * lanes : last;
      hn::StoreU(LoadNumbers<kStep>(from + at * call.stride, call.stride), Numbers<T>(), to + at);
    }
  }
}

// Rows of panels have up to three vectors.
template <int64_t kStep, typename T>
HWY_INLINE void WidenAnyChannels(const WindowTapCall& call) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Numbers<T>()));
  if (call.count <= lanes) return WidenChannels<1, kStep, T>(call);
  if (call.count <= 2 * lanes) return WidenChannels<2, kStep, T>(call);
  if (call.count <= 3 * lanes) return WidenChannels<3, kStep, T>(call);
  WidenChannels<0, kStep, T>(call);
}

template <typename T>
void PackTap(const WindowTapCall& call) {
  using Number = hn::TFromD<Numbers<T>>;
  auto* to = static_cast<Number*>(call.to);
  const auto padding = static_cast<Number>(call.padding);
  for (int64_t c = 0; c < call.channels && call.before + call.after > 0; ++c, to += call.row) {
    std::fill_n(to, call.before, padding);
    std::fill_n(to + call.before + call.count, call.after, padding);
  }
  if (call.count >= static_cast<int64_t>(hn::Lanes(Numbers<T>()))) {
    return WithStep(call.stride,
                    [&]<int64_t kStep>() HWY_ATTR { WidenAnyChannels<kStep, T>(call); });
  }
  const T* from = reinterpret_cast<const T*>(call.data);
  to = static_cast<Number*>(call.to) + call.before;
  for (int64_t c = 0; c < call.channels; ++c, from += call.channel_stride, to += call.row) {
    for (int64_t i = 0; i < call.count; ++i) to[i] = WidenElement(from[i * call.stride]);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

PackFunction* PackFunctionFor(DataType type) {
  return type == DataType::kFloat16 ? DMLOP_CHOOSE(Pack<Half>) : DMLOP_CHOOSE(Pack<float>);
}

PackTapFunction* PackTapFunctionFor(DataType type) {
  if (type == DataType::kInt8) return DMLOP_CHOOSE(PackTap<int8_t>);
  if (type == DataType::kUint8) return DMLOP_CHOOSE(PackTap<uint8_t>);
  return type == DataType::kFloat16 ? DMLOP_CHOOSE(PackTap<Half>) : DMLOP_CHOOSE(PackTap<float>);
}

}  // namespace dmlop
#endif
