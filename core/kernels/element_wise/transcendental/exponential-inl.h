// SPDX-License-Identifier: Apache-2.0
// Approximations of functions based on e^x and on the error function.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_EXPONENTIAL_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_EXPONENTIAL_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_EXPONENTIAL_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_EXPONENTIAL_INL_H_
#endif

#include "core/kernels/element_wise/transcendental/polynomial-inl.h"
#include "core/kernels/reduce/powers_of_two.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// e^x = power * (1 + rest) for x clamped to [-700, 700]; beyond, FLOAT32 is 0 or infinite anyway.
template <class D>
struct ExpParts {
  hn::Vec<D> power, rest;
};

// With k = x / ln 2 rounded and r = x - k * ln 2, `power` is 2^k and `rest` is e^r - 1: r times a
// polynomial that interpolates (e^r - 1) / r at Chebyshev nodes for |r| <= ln 2 / 2. It is within
// 2^-49.2 of the rest and 2^-50.5 of e^r.
template <class D>
HWY_INLINE ExpParts<D> SplitExp(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  x = Limit(d, x, -700.0, 700.0);
  // Adding 1.5 * 2^52 leaves k in the low bits of the sum.
  const auto shifter = hn::Set(d, 0x1.8p52);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep+0), shifter);
  const auto k = hn::Sub(shifted, shifter);
  // The first part of ln 2 has 40 bits, so its product with k is exact.
  auto r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa2000p-1), x);
  r = hn::NegMulAdd(k, hn::Set(d, 0x1.9ef35793c7673p-41), r);
  const auto exponent = hn::Add(hn::BitCast(du, shifted), hn::Set(du, 1023));
  return {hn::BitCast(d, hn::ShiftLeft<52>(exponent)),
          hn::Mul(r, Polynomial(d, r, kExpm1Coefficients))};
}

template <class D>
HWY_INLINE hn::Vec<D> ApproximateExp(D d, hn::Vec<D> x) {
  const auto [power, rest] = SplitExp(d, x);
  return hn::MulAdd(power, rest, power);
}

template <class D>
HWY_INLINE hn::Vec<D> ApproximateExpm1(D d, hn::Vec<D> x) {
  const auto [power, rest] = SplitExp(d, x);
  return hn::MulAdd(power, rest, hn::Sub(power, One(d)));
}

// With t = e^(2 |x|) - 1, tanh |x| = t / (t + 2), which rounds to 1 from 30 on.
template <class D>
HWY_INLINE hn::Vec<D> ApproximateTanh(D d, hn::Vec<D> x) {
  const auto magnitude = Limit(d, hn::Abs(x), 0.0, 30.0);
  const auto t = ApproximateExpm1(d, hn::Add(magnitude, magnitude));
  return FlipSign(d, hn::Div(t, hn::Add(t, hn::Set(d, 2.0))), x);
}

struct Exp {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return ApproximateExp(d, x);
  }
};

// With t = e^|x| - 1, sinh |x| = (t + t / (t + 1)) / 2.
struct Sinh {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto t = ApproximateExpm1(d, hn::Abs(x));
    const auto twice = hn::Add(t, hn::Div(t, hn::Add(t, One(d))));
    return FlipSign(d, hn::Mul(twice, hn::Set(d, 0.5)), x);
  }
};

struct Cosh {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto e = ApproximateExp(d, hn::Abs(x));
    return hn::Mul(hn::Add(e, hn::Div(One(d), e)), hn::Set(d, 0.5));
  }
};

struct Tanh {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return ApproximateTanh(d, x);
  }
};

struct Sigmoid {
  static constexpr double kRelativeError = 0x1p-46;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    return hn::Div(One(d), hn::Add(One(d), ApproximateExp(d, hn::Neg(x))));
  }
};

struct Elu {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    const auto alpha = hn::Set(d, parameters.numbers[0]);
    const auto below = hn::Mul(alpha, ApproximateExpm1(d, x));
    return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), x, below);
  }
};

// The max and min of the formula prefer any number to NaN, and +0 to -0.
struct Celu {
  static constexpr double kRelativeError = 0x1p-44;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    const auto alpha = hn::Set(d, parameters.numbers[0]);
    const auto zero = hn::Zero(d);
    const auto below = hn::Mul(alpha, ApproximateExpm1(d, hn::Div(x, alpha)));
    return hn::IfThenElse(hn::Gt(x, zero), x, hn::IfThenElseZero(hn::Lt(x, zero), below));
  }
};

// A zero difference Alpha * e^x - Alpha is +0.
struct ScaledElu {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    const auto alpha = hn::Set(d, parameters.numbers[0]);
    const auto gamma = hn::Set(d, parameters.numbers[1]);
    const auto below = hn::MulAdd(alpha, ApproximateExpm1(d, x), hn::Zero(d));
    return hn::Mul(gamma, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, below));
  }
};

struct ScaledTanh {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    const auto alpha = hn::Set(d, parameters.numbers[0]);
    const auto beta = hn::Set(d, parameters.numbers[1]);
    return hn::Mul(alpha, ApproximateTanh(d, hn::Mul(beta, x)));
  }
};

// Far to the left this is a zero factor, so that -infinity times it is NaN.
struct Swish {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters& parameters, hn::Vec<D> x) const {
    const auto scale = hn::Set(d, parameters.numbers[0]);
    const auto scaled = hn::Mul(x, scale);
    const auto far = hn::Lt(scaled, hn::Set(d, -690.0));
    const auto y = hn::Div(x, hn::Add(One(d), ApproximateExp(d, hn::Neg(scaled))));
    return hn::IfThenElse(far, hn::Mul(x, hn::Zero(d)), y);
  }
};

// --- the error function --------------------------------------------------------------------------

// The ratio x * p(x^2) / q(x^2) interpolates the function at Chebyshev nodes, within 2^-48.3 up to
// 3.95. From there on it rounds to 1.
struct Erf {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    constexpr double kNumerator[] = {
        0x1.20dd750429b7bp+0,  0x1.9d70143170867p-3,  0x1.f76805bc5b21bp-5,  0x1.701fa9c018784p-8,
        0x1.66a021068fa35p-11, 0x1.3ad92b59ccd04p-15, 0x1.38a7dc9d24e0cp-19, 0x1.3300074c1972ap-24,
        0x1.1e972cd4c49dep-29, 0x1.e1be1bc260f13p-37, -0x1.b0bbfea78b355p-49};
    constexpr double kDenominator[] = {1.0,
                                       0x1.06443fa39f495p-1,
                                       0x1.006bfed92d894p-3,
                                       0x1.3c31ac003708ap-6,
                                       0x1.114d787c2840cp-9,
                                       0x1.5b4bc9b237f7cp-13,
                                       0x1.49621b60bec95p-17,
                                       0x1.cbd59fa10b3eap-22,
                                       0x1.bcef025a6a595p-27,
                                       0x1.f2414e7098aa7p-33,
                                       0x1.61ab315ac8f2cp-42};
    x = Limit(d, x, -3.95, 3.95);
    const auto x2 = hn::Mul(x, x);
    return hn::Div(hn::Mul(x, Polynomial(d, x2, kNumerator)), Polynomial(d, x2, kDenominator));
  }
};

// Computes (1 - erf(a / sqrt(2))) / 2 * e^(a * a / 2) as a ratio that interpolates it at Chebyshev
// nodes for a in [0, 14.6], within 2^-48.9. Beyond, its value at 14.6 serves: the product with the
// power of e is too small for FLOAT32 and FLOAT16.
template <class D>
HWY_INLINE hn::Vec<D> ScaledNormalTail(D d, hn::Vec<D> a) {
  constexpr double kNumerator[] = {
      0x1.fffffffffffefp-2,  0x1.d123c15025944p-1,  0x1.a2f38727a1de6p-1,  0x1.e6b7d9fb398b0p-2,
      0x1.921b5205ad984p-3,  0x1.ee3f3d8a95e0ep-5,  0x1.cca715ee25784p-7,  0x1.45f285f7a8f7dp-9,
      0x1.585c2e26b0e92p-12, 0x1.04462b361074ep-15, 0x1.ffe0e0adb9871p-20, 0x1.f98cbfa34e6dap-25};
  constexpr double kDenominator[] = {1.0,
                                     0x1.4eb2f577638e3p+1,
                                     0x1.9c86dfbc4d7ccp+1,
                                     0x1.3d859ad3cf8d6p+1,
                                     0x1.54b9c1196a03fp+0,
                                     0x1.0d34dcac501e9p-1,
                                     0x1.422c86f79af4fp-3,
                                     0x1.275628b229664p-5,
                                     0x1.9d9790996c2fbp-8,
                                     0x1.b218ee77144d8p-11,
                                     0x1.46d2ef89effc5p-14,
                                     0x1.40c5b13825e6ep-18,
                                     0x1.3cce6d4b6ce2ap-23};
  a = Limit(d, a, 0.0, 14.6);
  return hn::Div(Polynomial(d, a, kNumerator), Polynomial(d, a, kDenominator));
}

// Computes x times the normal distribution function of x. Far to the left that is zero, so that
// -infinity times it is NaN.
struct Gelu {
  static constexpr double kRelativeError = 0x1p-45;
  template <class D>
  HWY_INLINE hn::Vec<D> operator()(D d, const ElementParameters&, hn::Vec<D> x) const {
    const auto zero = hn::Zero(d);
    const auto power = ApproximateExp(d, hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5)));
    const auto tail = hn::Mul(power, ScaledNormalTail(d, hn::Abs(x)));
    const auto left = hn::IfThenElseZero(hn::Gt(x, hn::Set(d, -37.0)), tail);
    return hn::Mul(x, hn::IfThenElse(hn::Lt(x, zero), left, hn::Sub(One(d), tail)));
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
