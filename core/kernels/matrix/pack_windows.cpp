// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/matrix/pack.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/matrix/pack_windows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "core/kernels/matrix/widen_row-inl.h"
#include "core/kernels/simd/dispatch.h"
#include "core/kernels/window/stepped-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Widens the elements of each channel by kVectors vectors, of which the last may overlap the one
// before; by as many as it takes if kVectors is 0.
template <int64_t kVectors, int64_t kStep, typename T>
HWY_INLINE void WidenChannels(const WindowTapCall& call) {
  const hn::Rebind<float, Wide> floats;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  const int64_t vectors = kVectors > 0 ? kVectors : (call.count + lanes - 1) / lanes;
  const int64_t last = call.count - lanes;
  const T* from = reinterpret_cast<const T*>(call.data);
  double* to = call.to + call.before;
  for (int64_t c = 0; c < call.channels; ++c, from += call.channel_stride, to += call.width) {
#pragma GCC unroll 3
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t at = v + 1 < vectors ? v * lanes : last;
      const auto x = LoadSteppedFloats<kStep>(floats, from + at * call.stride, call.stride);
      hn::StoreU(hn::PromoteTo(Wide(), x), Wide(), to + at);
    }
  }
}

// Rows of panels have up to three vectors.
template <int64_t kStep, typename T>
HWY_INLINE void WidenAnyChannels(const WindowTapCall& call) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(Wide()));
  if (call.count <= lanes) return WidenChannels<1, kStep, T>(call);
  if (call.count <= 2 * lanes) return WidenChannels<2, kStep, T>(call);
  if (call.count <= 3 * lanes) return WidenChannels<3, kStep, T>(call);
  WidenChannels<0, kStep, T>(call);
}

template <typename T>
void PackTap(const WindowTapCall& call) {
  double* to = call.to;
  for (int64_t c = 0; c < call.channels && call.before + call.after > 0; ++c, to += call.width) {
    std::fill_n(to, call.before, 0.0);
    std::fill_n(to + call.before + call.count, call.after, 0.0);
  }
  if (call.count >= static_cast<int64_t>(hn::Lanes(Wide()))) {
    return WithStep(call.stride,
                    [&]<int64_t kStep>() HWY_ATTR { WidenAnyChannels<kStep, T>(call); });
  }
  const T* from = reinterpret_cast<const T*>(call.data);
  to = call.to + call.before;
  for (int64_t c = 0; c < call.channels; ++c, from += call.channel_stride, to += call.width) {
    for (int64_t i = 0; i < call.count; ++i) to[i] = WidenElement(from[i * call.stride]);
  }
}

void PackFloatTap(const WindowTapCall& call) {
  PackTap<float>(call);
}
void PackHalfTap(const WindowTapCall& call) {
  PackTap<Half>(call);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

PackTapFunction* PackTapFunctionFor(DataType type) {
  return type == DataType::kFloat16 ? DMLOP_CHOOSE(PackHalfTap) : DMLOP_CHOOSE(PackFloatTap);
}

}  // namespace dmlop
#endif
