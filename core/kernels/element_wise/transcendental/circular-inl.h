// SPDX-License-Identifier: Apache-2.0
// Approximations of SIN, COS and TAN.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_CIRCULAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_CIRCULAR_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_CIRCULAR_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_CIRCULAR_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "core/exact/elementary.h"
#include "core/kernels/element_wise/transcendental/polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// x is a whole number of quarter turns plus a rest of at most pi / 4 in magnitude. Only the two
// lowest bits of `count` are defined.
template <class D>
struct TurnParts {
  hn::Vec<hn::RebindToUnsigned<D>> count;
  hn::Vec<D> rest;
};

// Splits elements one by one; some are beyond 2^15.
template <class D>
HWY_NOINLINE TurnParts<D> SplitLargeTurns(D d, hn::VecArg<hn::Vec<D>> x) {
  const hn::RebindToUnsigned<D> du;
  HWY_ALIGN double rest[hn::MaxLanes(D())];
  HWY_ALIGN uint64_t count[hn::MaxLanes(D())];
  hn::Store(x, d, rest);
  for (size_t i = 0; i < hn::Lanes(d); ++i) {
    const bool is_number = std::isfinite(rest[i]);
    const ApproximateQuarterTurns turns = is_number ? CountQuarterTurnsApproximately(rest[i])
                                                    : ApproximateQuarterTurns{0, rest[i] - rest[i]};
    rest[i] = turns.rest;
    count[i] = static_cast<uint64_t>(turns.count);
  }
  return {hn::Load(du, count), hn::Load(d, rest)};
}

// pi / 2 has three parts: the products with the first two, of 38 bits each, are exact, and so are
// the differences.
template <class D>
HWY_INLINE TurnParts<D> SplitTurns(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 0x1p15))))) {
    return SplitLargeTurns(d, x);
  }
  const auto shifter = hn::Set(d, 0x1.8p52);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 0x1.45f306dc9c883p-1), shifter);
  const auto k = hn::Sub(shifted, shifter);
  auto rest = hn::NegMulAdd(k, hn::Set(d, 0x1.921fb54440000p+0), x);
  rest = hn::NegMulAdd(k, hn::Set(d, 0x1.68c234c4c0000p-39), rest);
  rest = hn::NegMulAdd(k, hn::Set(d, 0x1.98a2e03707345p-77), rest);
  return {hn::BitCast(du, shifted), rest};
}

// The polynomials interpolate the functions at Chebyshev nodes for |r| <= pi / 4, within 2^-55.
inline constexpr double kSine[] = {1.0,
                                   -0x1.5555555555555p-3,
                                   0x1.1111111110bb2p-7,
                                   -0x1.a01a019e83816p-13,
                                   0x1.71de379654304p-19,
                                   -0x1.ae600aca92c64p-26,
                                   0x1.5e0b05bff20f2p-33};
inline constexpr double kCosine[] = {1.0,
                                     -0.5,
                                     0x1.5555555555555p-5,
                                     -0x1.6c16c16c16967p-10,
                                     0x1.a01a019f4e9b4p-16,
                                     -0x1.27e4fa17bf139p-22,
                                     0x1.1eeb68cd22f56p-29,
                                     -0x1.907d8f29fe831p-37};

// Returns the sine of x plus `turned` quarter turns.
template <class D>
HWY_INLINE hn::Vec<D> TurnedSine(D d, hn::Vec<D> x, uint64_t turned) {
  const hn::RebindToUnsigned<D> du;
  const auto parts = SplitTurns(d, x);
  const auto count = hn::Add(parts.count, hn::Set(du, turned));
  const auto r2 = hn::Mul(parts.rest, parts.rest);
  const auto is_odd = hn::RebindMask(d, hn::TestBit(count, hn::Set(du, 1)));
  const auto y = hn::IfThenElse(is_odd, Polynomial(d, r2, kCosine),
                                hn::Mul(parts.rest, Polynomial(d, r2, kSine)));
  return FlipSign(d, y, hn::BitCast(d, hn::ShiftLeft<62>(count)));
}

struct Sin {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return TurnedSine(d, x, 0);
  }
};

struct Cos {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return TurnedSine(d, x, 1);
  }
};

// Returns sine / cosine, or -cosine / sine after an odd number of quarter turns.
struct Tan {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const hn::RebindToUnsigned<D> du;
    const auto [count, rest] = SplitTurns(d, x);
    const auto r2 = hn::Mul(rest, rest);
    const auto sine = hn::Mul(rest, Polynomial(d, r2, kSine));
    const auto cosine = Polynomial(d, r2, kCosine);
    const auto is_odd = hn::RebindMask(d, hn::TestBit(count, hn::Set(du, 1)));
    const auto ratio =
        hn::Div(hn::IfThenElse(is_odd, cosine, sine), hn::IfThenElse(is_odd, sine, cosine));
    return FlipSign(d, ratio, hn::BitCast(d, hn::ShiftLeft<63>(count)));
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
