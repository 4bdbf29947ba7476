// SPDX-License-Identifier: Apache-2.0
// Exponentials that are summed up, for kernel sources. Included once for each instruction set,
// hence the unusual guard.
#if defined(DMLOP_KERNELS_APPROXIMATE_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_APPROXIMATE_EXP_INL_H_
#undef DMLOP_KERNELS_APPROXIMATE_EXP_INL_H_
#else
#define DMLOP_KERNELS_APPROXIMATE_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include <iterator>

#include "core/kernels/reduce/exp_sum.h"
#include "core/kernels/reduce/powers_of_two.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// AddExp(x, sum) is sum + e^x / ExpUnit for x <= ExpSums::kHeadroom. The exponential is nearly 0
// for x far below 0, -infinity included, and NaN for NaN. In binary64 it is within 2^-37 of the
// result; in binary32 within 2^-20.7, besides the rounding of the sum, unless it is too small to
// affect sums of 1 and more. For a larger x, it is only known to exceed kMostOfTerms, or to be
// infinite or NaN.

// If a sum of terms does not exceed this, no x was too large. It is less than e^kHeadroom.
constexpr double kMostOfTerms = 0x1p23;

#if HWY_TARGET <= HWY_AVX3

constexpr double ExpUnit(Wide) {
  return 1;
}
constexpr double ExpUnit(Floats) {
  return 1;
}

// e^x is 2^k * e^r, where k is x / ln 2 rounded to 16ths: the fraction of k selects one of 16
// powers of 2, and its integer part is an exponent. e^r is 1 + r * p(r), where p interpolates (e^r
// - 1) / r at Chebyshev nodes for |r| <= ln 2 / 32, within 2^-38.5 in binary64 and 2^-21.1 in
// binary32.
HWY_INLINE WideVec AddExp(WideVec x, WideVec sum) {
  const Wide d;
  constexpr double kCoefficients[] = {0x1.55570aa7f019ep-5, 0x1.5557e551b58ccp-3,
                                      0x1.fffffffe5bc5fp-2, 0x1.fffffffb1350ap-1, 1.0};
  // If either operand is NaN, the result is the second one.
  const WideVec clamped{_mm512_max_pd(hn::Set(d, -700.0).raw, x.raw)};
  // Adding this leaves the fraction of k in the lowest bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p48);
  const WideVec shifted = hn::MulAdd(clamped, hn::Set(d, 0x1.71547652b82fep0), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  const WideVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), clamped);
  const __m512d fraction =
      _mm512_permutex2var_pd(_mm512_load_pd(kPowersOfTwo.data()), _mm512_castpd_si512(shifted.raw),
                             _mm512_load_pd(kPowersOfTwo.data() + 8));
  const WideVec power{_mm512_scalef_pd(fraction, k.raw)};
  WideVec rest = hn::Set(d, kCoefficients[0]);
  for (size_t i = 1; i < std::size(kCoefficients); ++i) {
    rest = hn::MulAdd(rest, r, hn::Set(d, kCoefficients[i]));
  }
  return hn::MulAdd(power, rest, sum);
}

HWY_INLINE FloatVec AddExp(FloatVec x, FloatVec sum) {
  const Floats d;
  alignas(64) static constexpr float kPowers[] = {
      0x1.000000p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
      0x1.306fe0p+0f, 0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
      0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
      0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
  const FloatVec clamped{_mm512_max_ps(hn::Set(d, -87.0f).raw, x.raw)};
  const FloatVec shifter = hn::Set(d, 0x1.8p19f);
  const FloatVec shifted = hn::MulAdd(clamped, hn::Set(d, 0x1.715476p0f), shifter);
  const FloatVec k = hn::Sub(shifted, shifter);
  const FloatVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e43p-1f), clamped);  // within 2^-24
  const __m512 fraction =
      _mm512_permutexvar_ps(_mm512_castps_si512(shifted.raw), _mm512_load_ps(kPowers));
  const FloatVec power{_mm512_scalef_ps(fraction, k.raw)};
  const FloatVec rest = hn::MulAdd(
      hn::MulAdd(hn::Set(d, 0x1.0001ecp-1f), r, hn::Set(d, 0x1.0003d8p+0f)), r, hn::Set(d, 1.0f));
  return hn::MulAdd(power, rest, sum);
}

#else

// Clamps x to [least, most]; NaN stays NaN.
template <typename V>
HWY_INLINE V Limit(V x, V least, V most) {
#if HWY_TARGET == HWY_AVX2
  // If either operand is NaN, the result is the second one.
  return hn::Min(most, hn::Max(least, x));
#else
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
  return hn::IfThenElse(hn::Gt(x, most), most, x);
#endif
}

// e^x is 2^k * e^r, where k is x / ln 2 rounded. The polynomial that interpolates e^r at Chebyshev
// nodes for |r| <= ln 2 / 2 is the product of its leading coefficient, which is ExpUnit, and of
// monic factors that are evaluated in parallel.

// The degree is 8: four factors with two conjugate zeros each, within 2^-39.7.
constexpr double ExpUnit(Wide) {
  return 0x1.a15a600528a0fp-16;
}

HWY_INLINE WideVec AddExp(WideVec x, WideVec sum) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> bits;
  x = Limit(x, hn::Set(d, -700.0), hn::Set(d, 40.0));
  // Adding 1.5 * 2^52 leaves k in the low bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p52);
  const WideVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep0), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  const WideVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), x);  // within 2^-42
  const auto factor = [&](double slope, double constant) HWY_ATTR {
    return hn::MulAdd(hn::Add(r, hn::Set(d, slope)), r, hn::Set(d, constant));
  };
  const WideVec left = hn::Mul(factor(0x1.7c4ac8a39e32dp+2, 0x1.2f44d8a91c095p+3),
                               factor(-0x1.05c755baa5184p+2, 0x1.a65bbd34a2cabp+4));
  const WideVec right = hn::Mul(factor(0x1.2516109380326p+2, 0x1.5bafbd1c84c5bp+3),
                                factor(0x1.932381014506ep+0, 0x1.d93faaf566b35p+3));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(bits, shifted));
  const WideVec power = hn::BitCast(d, hn::Add(hn::BitCast(bits, left), exponent));
  return hn::MulAdd(power, right, sum);
}

// The degree is 5: a factor with three zeros and one with two, within 2^-23.2, and with rounding
// 2^-21.7.
constexpr double ExpUnit(Floats) {
  return 0x1.123d90f1a67d6p-7;
}

HWY_INLINE FloatVec AddExp(FloatVec x, FloatVec sum) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> bits;
  x = Limit(x, hn::Set(d, -87.0f), hn::Set(d, 40.0f));
  const FloatVec shifter = hn::Set(d, 0x1.8p23f);
  const FloatVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0f), shifter);
  const FloatVec k = hn::Sub(shifted, shifter);
  // ln 2 has two parts; the product with the first, of 15 bits, is exact.
  FloatVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(k, hn::Set(d, 0x1.7f7d1cp-20f), r);
  const FloatVec left =
      hn::MulAdd(hn::MulAdd(hn::Add(r, hn::Set(d, 0x1.5fe372p2f)), r, hn::Set(d, 0x1.9a3b72p3f)), r,
                 hn::Set(d, 0x1.86af3cp3f));
  const FloatVec right =
      hn::MulAdd(hn::Add(r, hn::Set(d, -0x1.f56ec6p-2f)), r, hn::Set(d, 0x1.392dbcp3f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, shifted));
  const FloatVec power = hn::BitCast(d, hn::Add(hn::BitCast(bits, left), exponent));
  return hn::MulAdd(power, right, sum);
}

#endif

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
