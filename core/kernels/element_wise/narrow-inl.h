// FLOAT64 vectors rounded once to FLOAT32 or FLOAT16, for kernel sources: included once for each
// instruction set, hence the unusual guard.
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

// To odd, so that FLOAT16 can be rounded once more; see odd-inl.h.
struct DoublesToOddFloats {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D d, V x) const {
    const hn::Rebind<double, D> dd;
    const hn::RebindToSigned<D> di;
    const auto rounded = ToFloats(dd, x);
    const V back = hn::PromoteTo(dd, rounded);
    const auto bits = hn::BitCast(di, rounded);
    // What rounding added, in the direction away from zero. FLOAT32 has room for its sign.
    const V difference = hn::Sub(hn::Abs(x), hn::Abs(back));
    const auto sign = ToFloats(
        dd, hn::CopySign(hn::IfThenElseZero(hn::Ne(difference, hn::Zero(dd)), hn::Set(dd, 1.0)),
                         difference));
    const auto is_even = hn::Eq(hn::And(bits, hn::Set(di, 1)), hn::Zero(di));
    const auto step = hn::IfThenElseZero(is_even, hn::ConvertTo(di, sign));
    const auto odd = hn::BitCast(d, hn::Add(bits, step));
    // The difference of infinities is NaN, whose sign differs from machine to machine.
    return hn::IfThenElse(hn::IsFinite(rounded), odd, rounded);
  }
};

// As bits; any NaN becomes the default one.
HWY_INLINE hn::Vec<hn::Rebind<uint16_t, Wide> > RoundedTo(Half, WideVec x) {
  return FloatsToHalves()(hn::Rebind<uint16_t, Wide>(), DoublesToOddFloats()(Narrow(), x));
}
HWY_INLINE hn::Vec<hn::Rebind<uint32_t, Wide> > RoundedTo(float, WideVec x) {
  return hn::BitCast(hn::Rebind<uint32_t, Wide>(), ToResults(Wide(), x));
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
