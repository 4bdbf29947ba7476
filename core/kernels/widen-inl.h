// FLOAT32 and FLOAT16 elements as vectors of FLOAT64, for kernel sources: included once for each
// instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_WIDEN_INL_H_
#undef DMLOP_KERNELS_WIDEN_INL_H_
#else
#define DMLOP_KERNELS_WIDEN_INL_H_
#endif

#include <hwy/highway.h>

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

HWY_INLINE NarrowVec LoadNarrow(const float* x) {
  return hn::LoadU(Narrow(), x);
}
HWY_INLINE NarrowVec LoadNarrow(const Half* x) {
  const hn::Rebind<hwy::float16_t, Narrow> d;
  const NarrowVec wide =
      hn::PromoteTo(Narrow(), hn::LoadU(d, reinterpret_cast<const hwy::float16_t*>(x)));
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  // In software, Highway takes infinities and NaN for numbers from 2^16 on.
  const NarrowVec infinity = hn::BitCast(Narrow(), hn::Set(NarrowBits(), 0x7F800000u));
  const auto is_special = hn::Ge(hn::Abs(wide), hn::Set(Narrow(), 65536.0f));
  return hn::IfThenElse(is_special, hn::Or(wide, infinity), wide);
#else
  return wide;
#endif
}

template <typename T>
HWY_INLINE WideVec LoadWide(const T* x) {
  return hn::PromoteTo(Wide(), LoadNarrow(x));
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
