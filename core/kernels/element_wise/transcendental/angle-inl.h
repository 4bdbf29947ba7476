// SPDX-License-Identifier: Apache-2.0
// Approximations of the functions that return angles. Included once for each instruction set, hence
// the unusual guard.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_ANGLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_ANGLE_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_ANGLE_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_ANGLE_INL_H_
#endif

#include "core/kernels/element_wise/transcendental/polynomial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

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

// Computes sqrt(1 - x^2) accurately even for x close to 1; NaN beyond.
template <class D>
HWY_INLINE hn::Vec<D> OtherLeg(D d, hn::Vec<D> x) {
  return hn::Sqrt(hn::Mul(hn::Add(One(d), x), hn::Sub(One(d), x)));
}

struct Asin {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return FlipSign(d, ApproximateAngle(d, hn::Abs(x), OtherLeg(d, x)), x);
  }

  // With h = sqrt((1 - |x|) / 2), asin |x| is pi / 2 - 2 * asin h, which serves above 1/2. The
  // polynomial interpolates asin(s) / s at Chebyshev nodes for s^2 <= 1/4, within 2^-39.8.
  template <class D>
  static HWY_INLINE hn::Vec<D> Quick(D d, hn::Vec<D> x) {
    constexpr double kCoefficients[] = {
        0x1.0000000000e83p+0, 0x1.55555542fd475p-3,  0x1.33334261d9e87p-4,
        0x1.6db20cadb1f43p-5, 0x1.f288c804351cep-6,  0x1.6615a0ec8d425p-6,
        0x1.52d7c5f5c757bp-6, 0x1.f62a804832ccdp-10, 0x1.0dfd15eca3951p-5};
    const auto half = hn::Set(d, 0.5);
    const auto magnitude = hn::Abs(x);
    const auto is_large = hn::Gt(magnitude, half);
    const auto square =
        hn::IfThenElse(is_large, hn::NegMulAdd(magnitude, half, half), hn::Mul(x, x));
    const auto s = hn::IfThenElse(is_large, hn::Sqrt(square), magnitude);
    const auto angle = hn::Mul(s, Polynomial(d, square, kCoefficients));
    const auto other = hn::NegMulAdd(angle, hn::Set(d, 2.0), hn::Set(d, 0x1.921fb54442d18p+0));
    return FlipSign(d, hn::IfThenElse(is_large, other, angle), x);
  }
};

struct Acos {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return ApproximateAngle(d, OtherLeg(d, x), x);
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
