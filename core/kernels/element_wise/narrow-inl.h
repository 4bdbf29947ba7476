// SPDX-License-Identifier: Apache-2.0
// Rounds FLOAT64 vectors once to FLOAT32 or FLOAT16, for kernel sources.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/element_wise/halves-inl.h"
#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/simd/widen-inl.h"
#include "core/tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// Rounds to odd, so that the result can be rounded once more to FLOAT16 (see odd-inl.h): truncates,
// and sets the last bit if something was cut off. Of values below the least normal FLOAT32, only
// the sign has to be kept.
struct DoublesToOddFloats {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D, V x) const {
    const hn::Rebind<double, D> dd;
    const hn::RebindToUnsigned<decltype(dd)> du;
    const auto rest = hn::Set(du, 0x1FFFFFFF);
    const auto bits = hn::BitCast(du, x);
    const auto odd = hn::Or(bits, hn::Add(hn::And(bits, rest), rest));
    return ToFloats(dd, hn::BitCast(dd, hn::AndNot(rest, odd)));
  }
};

// Returns the results as bits; any NaN becomes the default one.
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, Wide>> RoundedTo(Half, WideVec x) {
  return FloatsToHalves()(hn::Rebind<uint16_t, Wide>(), DoublesToOddFloats()(Narrow(), x));
}
HWY_INLINE hn::Vec<hn::Rebind<uint32_t, Wide>> RoundedTo(float, WideVec x) {
  return hn::BitCast(hn::Rebind<uint32_t, Wide>(), ToResults(Wide(), x));
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
