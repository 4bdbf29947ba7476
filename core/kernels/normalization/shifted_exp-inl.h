// SPDX-License-Identifier: Apache-2.0
// Exponentials of numbers that are not positive, for kernel sources. Included once for each
// instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_NORMALIZATION_SHIFTED_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_NORMALIZATION_SHIFTED_EXP_INL_H_
#undef DMLOP_KERNELS_NORMALIZATION_SHIFTED_EXP_INL_H_
#else
#define DMLOP_KERNELS_NORMALIZATION_SHIFTED_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include <iterator>

#include "core/kernels/reduce/powers_of_two.h"
#include "core/kernels/simd/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// Returns 2^(k / 16), where the bits of `shifted` end in k and `k16ths` is k / 16.
HWY_INLINE WideVec PowerOfTwo(WideVec shifted, [[maybe_unused]] WideVec k16ths) {
#if HWY_TARGET <= HWY_AVX3
  const __m512d fraction =
      _mm512_permutex2var_pd(_mm512_load_pd(kPowersOfTwo.data()), _mm512_castpd_si512(shifted.raw),
                             _mm512_load_pd(kPowersOfTwo.data() + 8));
  return WideVec{_mm512_scalef_pd(fraction, k16ths.raw)};
#else
  const hn::RebindToSigned<Wide> bits;
  const auto k = hn::BitCast(bits, shifted);
  const auto place = hn::And(k, hn::Set(bits, 15));
  const auto fraction = hn::GatherIndex(bits, kPowerBits.data(), place);
  return hn::BitCast(Wide(), hn::Add(fraction, hn::ShiftLeft<kSixteenthsAt>(k)));
#endif
}

// Returns e^x within 2^-44 for x in [-700, 0], and exactly 1 for 0; x below -700 counts as -700.
// NaN stays NaN.
//
// e^x is 2^(k / 16) * e^r, where k / 16 is x / ln 2 rounded to 16ths, and e^r is 1 + r * p(r). The
// polynomial p interpolates (e^r - 1) / r at Chebyshev nodes for |r| <= ln 2 / 32, within 2^-46.6.
// The product with ln 2 and its rounding move r by at most 2^-45.9 for x >= -104; below, FLOAT32 is
// 0.
HWY_INLINE WideVec ShiftedExp(WideVec x) {
  const Wide d;
  constexpr double kCoefficients[] = {0x1.11120af701debp-7, 0x1.55570aa7f019ep-5,
                                      0x1.55555554dd44dp-3, 0x1.fffffffe5bc5fp-2, 1.0};
  const WideVec least = hn::Set(d, -700.0);
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
  // Adding this leaves k in the lowest bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p48);
  const WideVec shifted = hn::Add(hn::Mul(x, hn::Set(d, 0x1.71547652b82fep0)), shifter);
  const WideVec k16ths = hn::Sub(shifted, shifter);
  const WideVec r = hn::Sub(x, hn::Mul(k16ths, hn::Set(d, 0x1.62e42fefa39efp-1)));
  WideVec p = hn::Set(d, kCoefficients[0]);
  for (size_t i = 1; i < std::size(kCoefficients); ++i) {
    p = hn::Add(hn::Mul(p, r), hn::Set(d, kCoefficients[i]));
  }
  p = hn::Add(hn::Mul(p, r), hn::Set(d, 1.0));
  return hn::Mul(PowerOfTwo(shifted, k16ths), p);
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
