// SPDX-License-Identifier: Apache-2.0
// Approximations of functions based on logarithms.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_LOGARITHM_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_LOGARITHM_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_LOGARITHM_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_LOGARITHM_INL_H_
#endif

#include "core/kernels/element_wise/transcendental/exponential-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// x = 2^exponent * factor with a factor in [sqrt(1/2), sqrt(2)), for positive normal x.
template <class D>
struct LogParts {
  hn::Vec<D> exponent, factor;
};

template <class D>
HWY_INLINE LogParts<D> SplitLog(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto one = hn::Set(du, 0x3FF0000000000000);
  const auto bits = hn::BitCast(du, x);
  // The biased exponent of x / sqrt(1/2) is moved to the low bits of 2^52.
  const auto above = hn::Add(hn::Sub(bits, hn::Set(du, 0x3FE6A09E667F3BCD)), one);
  const auto biased = hn::Or(hn::ShiftRight<52>(above), hn::Set(du, 0x4330000000000000));
  const auto power = hn::And(above, hn::Set(du, 0xFFF0000000000000));
  return {hn::Sub(hn::BitCast(d, biased), hn::Set(d, 0x1p52 + 1023)),
          hn::BitCast(d, hn::Add(hn::Sub(bits, power), one))};
}

// Computes f - ln(1 + f) for f = factor - 1. With s = f / (2 + f), ln(1 + f) is 2 * atanh(s), and 2
// s is f - s * f, so that the exact f is the leading term. The polynomial interpolates (atanh(s) /
// s - 1) / s^2 at Chebyshev nodes, which leaves an error of 2^-57 of the logarithm.
template <class D>
HWY_INLINE hn::Vec<D> LogDeficit(D d, hn::Vec<D> f) {
  constexpr double kCoefficients[] = {
      0x1.5555555555558p-1, 0x1.99999999952e2p-2, 0x1.2492492df148dp-2, 0x1.c71c62e5800a1p-3,
      0x1.7462b4ab2ef6bp-3, 0x1.39fe606542ddep-3, 0x1.2b584aae78a57p-3};
  const auto s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
  const auto s2 = hn::Mul(s, s);
  return hn::Mul(s, hn::NegMulAdd(s2, Polynomial(d, s2, kCoefficients), f));
}

// Computes exponent * ln 2 + ln(1 + f); `x` is the number that the parts were split from.
template <class D>
HWY_INLINE hn::Vec<D> LogOfParts(D d, hn::Vec<D> exponent, hn::Vec<D> f, hn::Vec<D> x) {
  const auto low = hn::NegMulAdd(exponent, hn::Set(d, 0x1.9ef35793c7673p-41), LogDeficit(d, f));
  const auto log = hn::MulAdd(exponent, hn::Set(d, 0x1.62e42fefa2000p-1), hn::Sub(f, low));
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  const auto zero = hn::Zero(d);
  const auto not_positive = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), nan);
  const auto special = hn::IfThenElse(hn::Eq(x, infinity), infinity, not_positive);
  const auto usual = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
  return hn::IfThenElse(usual, log, special);
}

template <class D>
HWY_INLINE hn::Vec<D> ApproximateLog(D d, hn::Vec<D> x) {
  const auto [exponent, factor] = SplitLog(d, x);
  return LogOfParts(d, exponent, hn::Sub(factor, One(d)), x);
}

// Computes ln(1 + x). If 1 + x has exponent 0, f is x itself, without the rounding of the sum.
template <class D>
HWY_INLINE hn::Vec<D> ApproximateLog1p(D d, hn::Vec<D> x) {
  const auto sum = hn::Add(x, One(d));
  const auto [exponent, factor] = SplitLog(d, sum);
  const auto is_near = hn::Eq(exponent, hn::Zero(d));
  return LogOfParts(d, exponent, hn::IfThenElse(is_near, x, hn::Sub(factor, One(d))), sum);
}

// Computes ln(1 + e) for e in [0, 1] as 2 * atanh(s) with s = e / (2 + e), within 2^-51.
template <class D>
HWY_INLINE hn::Vec<D> Log1pOfFraction(D d, hn::Vec<D> e) {
  constexpr double kCoefficients[] = {
      0x1.5555555555571p-2, 0x1.9999999986411p-3, 0x1.24924936a674ep-3,
      0x1.c71c64ce7c491p-4, 0x1.745f69c23d592p-4, 0x1.3ad83c421c2e9p-4,
      0x1.1487294ad8da8p-4, 0x1.a6d10853dff56p-5, 0x1.59830f20005eep-4};
  const auto s = hn::Div(e, hn::Add(e, hn::Set(d, 2.0)));
  const auto s2 = hn::Mul(s, s);
  const auto twice = hn::Add(s, s);
  return hn::MulAdd(hn::Mul(twice, s2), Polynomial(d, s2, kCoefficients), twice);
}

struct Log {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return ApproximateLog(d, x);
  }
};

// ln(x + sqrt(x^2 + 1)) = ln(1 + x + x^2 / (1 + sqrt(x^2 + 1))).
struct Asinh {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto magnitude = hn::Abs(x);
    const auto square = hn::Mul(x, x);
    const auto root = hn::Sqrt(hn::Add(square, One(d)));
    const auto rest = hn::Div(square, hn::Add(root, One(d)));
    const auto y = FlipSign(d, ApproximateLog1p(d, hn::Add(magnitude, rest)), x);
    const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
    return hn::IfThenElse(hn::Eq(magnitude, infinity), x, y);
  }
};

// With d = x - 1, x + sqrt(x^2 - 1) = 1 + d + sqrt(d * (d + 2)).
struct Acosh {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
    const auto above = hn::IfThenElse(hn::Lt(x, One(d)), nan, hn::Sub(x, One(d)));
    const auto root = hn::Sqrt(hn::Mul(above, hn::Add(above, hn::Set(d, 2.0))));
    return ApproximateLog1p(d, hn::Add(above, root));
  }
};

// ln((1 + x) / (1 - x)) / 2 = ln(1 + 2 x / (1 - x)) / 2.
struct Atanh {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto magnitude = hn::Abs(x);
    const auto ratio = hn::Div(hn::Add(magnitude, magnitude), hn::Sub(One(d), magnitude));
    return FlipSign(d, hn::Mul(ApproximateLog1p(d, ratio), hn::Set(d, 0.5)), x);
  }
};

// With u = Steepness * x, ln(1 + e^u) = max(u, 0) + ln(1 + e^-|u|). If the first term is 0, it is
// not added, so that an underflow keeps its sign.
struct Softplus {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    const auto steepness = hn::Set(d, parameters.numbers[0]);
    const auto scaled = hn::Mul(x, steepness);
    const auto rest = Log1pOfFraction(d, ApproximateExp(d, hn::Neg(hn::Abs(scaled))));
    const auto divided = hn::Mul(rest, hn::Div(One(d), steepness));
    return hn::IfThenElse(hn::Gt(scaled, hn::Zero(d)), hn::Add(x, divided), divided);
  }
};

struct ParametricSoftplus {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    const auto alpha = hn::Set(d, parameters.numbers[0]);
    const auto beta = hn::Set(d, parameters.numbers[1]);
    const auto scaled = hn::Mul(x, beta);
    const auto rest = Log1pOfFraction(d, ApproximateExp(d, hn::Neg(hn::Abs(scaled))));
    const auto most = hn::IfThenElseZero(hn::Gt(scaled, hn::Zero(d)), scaled);
    return hn::Mul(alpha, hn::Add(most, rest));
  }
};

// Computes e^(y * ln |x|), with the sign of x if y is odd. The product magnifies the logarithm's
// error up to 150 times.
struct Pow {
  static constexpr double kRelativeError = 0x1p-41;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x,
                                   hn::Vec<D> y) const {
    const auto zero = hn::Zero(d);
    const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
    const auto magnitude = hn::Abs(x);
    const auto power = ApproximateExp(d, hn::Mul(y, ApproximateLog(d, magnitude)));
    // Every y of 2^53 or more is even.
    const auto half = hn::Mul(y, hn::Set(d, 0.5));
    const auto is_whole = hn::Eq(hn::Floor(y), y);
    const auto is_even = hn::Eq(hn::Floor(half), half);
    const auto is_odd = hn::AndNot(is_even, is_whole);
    const auto with_sign = hn::IfThenElse(is_odd, FlipSign(d, power, x), power);
    const auto no_number =
        hn::And(hn::AndNot(is_whole, hn::Lt(x, zero)), hn::Lt(magnitude, infinity));
    const auto nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
    const auto one_to_infinity = hn::And(hn::Eq(magnitude, One(d)), hn::Eq(hn::Abs(y), infinity));
    const auto is_one = hn::Or(hn::Or(hn::Eq(x, One(d)), hn::Eq(y, zero)), one_to_infinity);
    return hn::IfThenElse(is_one, One(d), hn::IfThenElse(no_number, nan, with_sign));
  }
};

struct ConstantPow {
  static constexpr double kRelativeError = Pow::kRelativeError;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    return Pow()(d, parameters, x, hn::Set(d, parameters.numbers[0]));
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
