// SPDX-License-Identifier: Apache-2.0
// Rounds vectors of FLOAT64 and FLOAT32 once to narrower floats, for kernel sources.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_NARROW_INL_H_
#endif

#include <hwy/highway.h>

#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/simd/widen-inl.h"
#include "core/tensor/half.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

struct FloatsToHalves {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    const hn::Rebind<float, D> df;
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
    const hn::Rebind<uint32_t, D> du;
    const auto bits = hn::BitCast(du, x);
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000));
    const V magnitude = hn::Abs(x);
    // Adding 0.5 leaves a subnormal result in the low bits of the sum.
    const auto subnormal =
        hn::Sub(hn::BitCast(du, hn::Add(magnitude, hn::Set(df, 0.5f))), hn::Set(du, 0x3F000000));
    // Any other result is rounded in place; a carry propagates into the exponent.
    const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1));
    const auto rounded = hn::Add(hn::Add(hn::BitCast(du, magnitude), odd), hn::Set(du, 0xC8000FFF));
    const auto is_small = hn::RebindMask(du, hn::Lt(magnitude, hn::Set(df, 0x1p-14f)));
    const auto finite = hn::IfThenElse(is_small, subnormal, hn::ShiftRight<13>(rounded));
    const auto is_large = hn::RebindMask(du, hn::Ge(magnitude, hn::Set(df, 65520.0f)));
    const auto number = hn::Or(hn::IfThenElse(is_large, hn::Set(du, 0x7C00), finite), sign);
    const auto is_nan = hn::RebindMask(du, hn::IsNaN(x));
    return hn::TruncateTo(d, hn::IfThenElse(is_nan, hn::Set(du, 0x7E00), number));
#else
    const hn::Rebind<hwy::float16_t, D> dh;
    const hn::Rebind<uint32_t, D> du;
    const V nan = hn::BitCast(df, hn::Set(du, 0x7FC00000));
    return hn::BitCast(d, hn::DemoteTo(dh, hn::IfThenElse(hn::IsNaN(x), nan, x)));
#endif
  }
};

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
