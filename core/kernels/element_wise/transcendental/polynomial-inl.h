// SPDX-License-Identifier: Apache-2.0
// The parts that approximations of transcendental functions share.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_POLYNOMIAL_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_POLYNOMIAL_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_POLYNOMIAL_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_POLYNOMIAL_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// powers[i] is x^(2^i).
template <size_t kBegin, size_t kCount, class D, size_t kSize>
HWY_INLINE hn::Vec<D> PolynomialPart(D d, const hn::Vec<D>* powers, const double (&c)[kSize]) {
  if constexpr (kCount == 1) {
    return hn::Set(d, c[kBegin]);
  } else {
    constexpr size_t kLog = static_cast<size_t>(std::bit_width(kCount - 1)) - 1;
    constexpr size_t kHalf = size_t{1} << kLog;
    const hn::Vec<D> high = PolynomialPart<kBegin + kHalf, kCount - kHalf>(d, powers, c);
    return hn::MulAdd(high, powers[kLog], PolynomialPart<kBegin, kHalf>(d, powers, c));
  }
}

// Evaluates c[0] + c[1] * x + c[2] * x^2 + ... by Estrin's scheme, whose independent parts shorten
// the dependency chain.
template <class D, size_t kSize>
HWY_INLINE hn::Vec<D> Polynomial(D d, hn::Vec<D> x, const double (&c)[kSize]) {
  const hn::Vec<D> x2 = hn::Mul(x, x);
  const hn::Vec<D> x4 = hn::Mul(x2, x2);
  const hn::Vec<D> powers[] = {x, x2, x4, hn::Mul(x4, x4)};
  return PolynomialPart<0, kSize>(d, powers, c);
}

// Clamps x to [least, most]; NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> Limit(D d, hn::Vec<D> x, double least, double most) {
  const hn::Vec<D> low = hn::Set(d, least);
  const hn::Vec<D> high = hn::Set(d, most);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
  // If either operand is NaN, the result is the second one.
  return hn::Min(high, hn::Max(low, x));
#else
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(x, high), high, x);
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> One(D d) {
  return hn::Set(d, 1.0);
}

// Returns x, or -x if the sign bit of `sign` is set.
template <class D>
HWY_INLINE hn::Vec<D> FlipSign(D d, hn::Vec<D> x, hn::Vec<D> sign) {
  return hn::Xor(x, hn::And(sign, hn::SignBit(d)));
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
