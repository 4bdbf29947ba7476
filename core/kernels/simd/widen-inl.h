// SPDX-License-Identifier: Apache-2.0
// Loads FLOAT32 and FLOAT16 elements as vectors of FLOAT64, for kernel sources.
#if defined(DMLOP_KERNELS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_WIDEN_INL_H_
#undef DMLOP_KERNELS_WIDEN_INL_H_
#else
#define DMLOP_KERNELS_WIDEN_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Half a vector of FLOAT32, or a quarter of FLOAT16, fills a vector of FLOAT64.
using Wide = hn::ScalableTag<double>;
using Narrow = hn::Rebind<float, Wide>;
using NarrowBits = hn::RebindToUnsigned<Narrow>;
using WideVec = hn::Vec<Wide>;
using NarrowVec = hn::Vec<Narrow>;
using BitsVec = hn::Vec<NarrowBits>;

using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;

// A vector of FLOAT32, widened to FLOAT64.
struct WideFloats {
  WideVec low, high;
};

#if HWY_TARGET != HWY_SCALAR
HWY_INLINE WideFloats WidenFloats(FloatVec x) {
  const hn::Half<Floats> half;
  return {hn::PromoteTo(Wide(), hn::LowerHalf(half, x)),
          hn::PromoteTo(Wide(), hn::UpperHalf(half, x))};
}
#endif

// Loads as many FLOAT32 as D has lanes.
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const float* x) {
  return hn::LoadU(d, x);
}
template <class D>
HWY_INLINE hn::Vec<D> FloatsOf(D d, hn::Vec<hn::Rebind<hwy::float16_t, D>> halves) {
  const hn::Vec<D> wide = hn::PromoteTo(d, halves);
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  // Highway's software conversion takes infinities and NaN for numbers of 2^16 and more.
  const hn::Vec<D> infinity = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7F800000u));
  const auto is_special = hn::Ge(hn::Abs(wide), hn::Set(d, 65536.0f));
  return hn::IfThenElse(is_special, hn::Or(wide, infinity), wide);
#else
  return wide;
#endif
}
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const Half* x) {
  const hn::Rebind<hwy::float16_t, D> halves;
  return FloatsOf(d, hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(x)));
}

template <typename T>
constexpr T kMinusInfinity = -INFINITY;
template <>
inline constexpr Half kMinusInfinity<Half>{0xFC00};

// Does the same for `count` elements, fewer than D has lanes, and fills up with -infinity.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadRest(D d, const T* x, int64_t count) {
  HWY_ALIGN T rest[hn::MaxLanes(D())];
  std::fill_n(rest, hn::Lanes(d), kMinusInfinity<T>);
  std::copy_n(x, count, rest);
  return LoadFloats(d, rest);
}

template <typename T>
HWY_INLINE NarrowVec LoadNarrow(const T* x) {
  return LoadFloats(Narrow(), x);
}

template <typename T>
HWY_INLINE WideVec LoadWide(const T* x) {
  return hn::PromoteTo(Wide(), LoadNarrow(x));
}

HWY_INLINE WideVec LoadWide(const double* x) {
  return hn::LoadU(Wide(), x);
}

HWY_INLINE double WidenElement(double x) {
  return x;
}
HWY_INLINE float WidenElement(float x) {
  return x;
}
HWY_INLINE float WidenElement(Half x) {
  return ToFloat(x);
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
