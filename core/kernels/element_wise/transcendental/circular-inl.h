// SPDX-License-Identifier: Apache-2.0
// Approximations of SIN, COS and TAN, and of the functions that return angles.
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

// --- angles --------------------------------------------------------------------------------------

// atan(t) for |t| <= sqrt(2) - 1. The polynomial interpolates (atan(t) / t - 1) / t^2 at Chebyshev
// nodes, within 2^-52.
template <class D>
HWY_INLINE hn::Vec<D> AtanOfSmall(D d, hn::Vec<D> t) {
  constexpr double kCoefficients[] = {
      -0x1.5555555555546p-2, 0x1.9999999990a81p-3, -0x1.2492491dd36fep-3, 0x1.c71c6dd12673dp-4,
      -0x1.745c7f6f74ddep-4, 0x1.3b068d86c9c53p-4, -0x1.105e316e925c8p-4, 0x1.d5eaddccfafaep-5,
      -0x1.6f43e8bd8d90ap-5, 0x1.74b7f80f108e5p-6};
  const auto t2 = hn::Mul(t, t);
  return hn::MulAdd(hn::Mul(t, t2), Polynomial(d, t2, kCoefficients), t);
}

// Returns the angle in [0, pi] of the point (x, y), y >= 0; at the origin 0 or pi, by the sign of
// x. For numbers n <= d, the angle of (d, n) is atan(n / d), or, if that ratio is too large for the
// polynomial, pi / 4 plus the angle of (n + d, n - d).
template <class D>
HWY_INLINE hn::Vec<D> ApproximateAngle(D d, hn::Vec<D> y, hn::Vec<D> x) {
  const auto zero = hn::Zero(d);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto length = hn::Abs(x);
  const auto is_steep = hn::Gt(y, length);
  auto less = hn::IfThenElse(is_steep, length, y);
  auto more = hn::IfThenElse(is_steep, y, length);
  // Only the ratio counts: infinities become numbers, and 0 / 0 becomes 0 / 1.
  const auto is_endless = hn::Eq(more, infinity);
  less = hn::IfThenElse(is_endless, hn::IfThenElseZero(hn::Eq(less, infinity), One(d)), less);
  more = hn::IfThenElse(hn::Or(is_endless, hn::Eq(more, zero)), One(d), more);

  const auto is_wide = hn::Gt(less, hn::Mul(more, hn::Set(d, 0x1.a8279p-2)));
  const auto numerator = hn::IfThenElse(is_wide, hn::Sub(less, more), less);
  const auto denominator = hn::IfThenElse(is_wide, hn::Add(less, more), more);
  const auto base = hn::IfThenElseZero(is_wide, hn::Set(d, 0x1.921fb54442d18p-1));
  auto angle = hn::Add(base, AtanOfSmall(d, hn::Div(numerator, denominator)));
  angle = hn::IfThenElse(is_steep, hn::Sub(hn::Set(d, 0x1.921fb54442d18p+0), angle), angle);
  const auto is_left = hn::Ne(hn::CopySignToAbs(One(d), x), One(d));
  angle = hn::IfThenElse(is_left, hn::Sub(hn::Set(d, 0x1.921fb54442d18p+1), angle), angle);
  const auto are_numbers = hn::And(hn::Eq(x, x), hn::Eq(y, y));
  return hn::IfThenElse(are_numbers, angle, hn::Add(x, y));
}

// Computes asin |x|, or, if `is_large`, asin of sqrt((1 - |x|) / 2), which is half of acos |x|; NaN
// beyond 1. The first serves up to 1/2, the second from there on. The polynomial interpolates
// (asin(s) / s - 1) / s^2 at Chebyshev nodes for s^2 <= 1/4, within 2^-49.9 of asin s.
template <class D>
HWY_INLINE hn::Vec<D> AsinOfHalf(D d, hn::Vec<D> magnitude, hn::Mask<D> is_large) {
  constexpr double kCoefficients[] = {
      0x1.55555555555bbp-3, 0x1.33333333030cfp-4,  0x1.6db6dba99e56dp-5, 0x1.f1c6ff7f5507fp-6,
      0x1.6e8f34a32a3ecp-6, 0x1.1c0d74beb3610p-6,  0x1.cf5ed14c7cb7ep-7, 0x1.512bc40e88a9ep-7,
      0x1.fa1b2b4831188p-7, -0x1.bf16e7c9f283cp-8, 0x1.c8a4a8d5d7026p-6};
  const auto half = hn::Set(d, 0.5);
  const auto square =
      hn::IfThenElse(is_large, hn::NegMulAdd(magnitude, half, half), hn::Mul(magnitude, magnitude));
  const auto s = hn::IfThenElse(is_large, hn::Sqrt(square), magnitude);
  return hn::MulAdd(hn::Mul(s, square), Polynomial(d, square, kCoefficients), s);
}

struct Asin {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto magnitude = hn::Abs(x);
    const auto is_large = hn::Gt(magnitude, hn::Set(d, 0.5));
    const auto angle = AsinOfHalf(d, magnitude, is_large);
    const auto other = hn::NegMulAdd(angle, hn::Set(d, 2.0), hn::Set(d, 0x1.921fb54442d18p+0));
    return FlipSign(d, hn::IfThenElse(is_large, other, angle), x);
  }
};

// Beyond 1/2 that is 2 h, with the angle h of AsinOfHalf, and pi - 2 h on the left; else it is
// pi / 2 - asin x.
struct Acos {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto magnitude = hn::Abs(x);
    const auto is_large = hn::Gt(magnitude, hn::Set(d, 0.5));
    const auto angle = AsinOfHalf(d, magnitude, is_large);
    const auto twice = hn::Add(angle, angle);
    const auto is_left = hn::Lt(x, hn::Zero(d));
    const auto large =
        hn::IfThenElse(is_left, hn::Sub(hn::Set(d, 0x1.921fb54442d18p+1), twice), twice);
    const auto small = hn::Sub(hn::Set(d, 0x1.921fb54442d18p+0), FlipSign(d, angle, x));
    return hn::IfThenElse(is_large, large, small);
  }
};

struct Atan {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return FlipSign(d, ApproximateAngle(d, hn::Abs(x), One(d)), x);
  }
};

struct AtanYx {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> y,
                                   hn::Vec<D> x) const {
    return FlipSign(d, ApproximateAngle(d, hn::Abs(y), x), y);
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
