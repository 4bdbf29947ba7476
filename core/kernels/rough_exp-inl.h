// Exponentials that are summed up, for kernel sources: included once for each instruction set,
// hence the unusual guard.
#if defined(DMLOP_KERNELS_ROUGH_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ROUGH_EXP_INL_H_
#undef DMLOP_KERNELS_ROUGH_EXP_INL_H_
#else
#define DMLOP_KERNELS_ROUGH_EXP_INL_H_
#endif

#include <hwy/highway.h>

#include <iterator>

#include "core/kernels/exp_sum.h"
#include "core/kernels/powers_of_two.h"
#include "core/kernels/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// AddExp(x, sum) is sum + e^x for x <= ExpSums::kHeadroom. The exponential is 1 for 0, nearly 0 for
// what is far below, -infinity included, and NaN for NaN. In binary64 it is within 2^-37 of the
// result; in binary32 within 2^-20.7, besides the rounding of the sum, unless it is so small that
// sums of 1 and more do not mind. For a larger x it means nothing, but that it is more than
// kMostOfTerms, infinite or NaN.

// What a sum of terms tells of that is not more: none was too large. Less than e^kHeadroom.
constexpr double kMostOfTerms = 0x1p23;

#if HWY_TARGET <= HWY_AVX3

// e^x is 2^k * e^r, where k is x / ln 2 rounded to 16ths: the fraction of k chooses one of 16
// powers of 2, and the rest of it is an exponent. Of e^r = 1 + r * p(r), p meets (e^r - 1) / r
// where Chebyshev polynomials say, for |r| <= ln 2 / 32: within 2^-38.5 in binary64, 2^-21.1 in
// binary32.
HWY_INLINE WideVec AddExp(WideVec x, WideVec sum) {
  const Wide d;
  constexpr double kCoefficients[] = {0x1.55570aa7f019ep-5, 0x1.5557e551b58ccp-3,
                                      0x1.fffffffe5bc5fp-2, 0x1.fffffffb1350ap-1, 1.0};
  // The second operand is the result where one of them is NaN.
  const WideVec clamped{_mm512_max_pd(hn::Set(d, -700.0).raw, x.raw)};
  // Leaves the fraction of k in the lowest bits of the sum.
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

// NaN stays.
template <typename V>
HWY_INLINE V Limit(V x, V least, V most) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
  // The second operand is the result where one of them is NaN.
  return hn::Min(most, hn::Max(least, x));
#else
  x = hn::IfThenElse(hn::Lt(x, least), least, x);
  return hn::IfThenElse(hn::Gt(x, most), most, x);
#endif
}

HWY_INLINE WideVec AddExp(WideVec x, WideVec sum) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> bits;
  x = Limit(x, hn::Set(d, -700.0), hn::Set(d, 40.0));
  // Adding 1.5 * 2^52 leaves k = round(x / ln 2) in the low bits of the sum.
  const WideVec shifter = hn::Set(d, 0x1.8p52);
  const WideVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.71547652b82fep0), shifter);
  const WideVec k = hn::Sub(shifted, shifter);
  const WideVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e42fefa39efp-1), x);  // within 2^-42
  // 1 + r + r^2 * p(r), where p meets (e^r - 1 - r) / r^2 at the Chebyshev nodes of
  // |r| <= ln(2) / 2: within 2^-37.7. Its halves are worked out side by side, since operations wait
  // for the ones before.
  const WideVec r2 = hn::Mul(r, r);
  const WideVec r4 = hn::Mul(r2, r2);
  const auto line = [&](double constant, double slope)
                        HWY_ATTR { return hn::MulAdd(hn::Set(d, slope), r, hn::Set(d, constant)); };
  const WideVec low = hn::MulAdd(line(0.5, 0x1.55555567532adp-3), r2, hn::Add(r, hn::Set(d, 1.0)));
  WideVec high = hn::MulAdd(line(0x1.6c16858b7acb9p-10, 0x1.a15179d80ae96p-13), r2,
                            line(0x1.5555555c87148p-5, 0x1.1110c632a3088p-7));
  high = hn::MulAdd(hn::Set(d, 0x1.a1132015ba37ep-16), r4, high);
  const WideVec power = hn::MulAdd(high, r4, low);
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(bits, shifted));
  return hn::Add(sum, hn::BitCast(d, hn::Add(hn::BitCast(bits, power), exponent)));
}

HWY_INLINE FloatVec AddExp(FloatVec x, FloatVec sum) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> bits;
  x = Limit(x, hn::Set(d, -87.0f), hn::Set(d, 40.0f));
  const FloatVec shifter = hn::Set(d, 0x1.8p23f);
  const FloatVec shifted = hn::MulAdd(x, hn::Set(d, 0x1.715476p0f), shifter);
  const FloatVec k = hn::Sub(shifted, shifter);
  // ln 2 in two parts; the product with the first, of 15 bits, is exact.
  FloatVec r = hn::NegMulAdd(k, hn::Set(d, 0x1.62e4p-1f), x);
  r = hn::NegMulAdd(k, hn::Set(d, 0x1.7f7d1cp-20f), r);
  // As above; p leaves 2^-26.5, and with rounding it is within 2^-22.4.
  const FloatVec r2 = hn::Mul(r, r);
  const auto line = [&](float constant, float slope)
                        HWY_ATTR { return hn::MulAdd(hn::Set(d, slope), r, hn::Set(d, constant)); };
  const FloatVec low = hn::MulAdd(line(0.5f, 0x1.5554dcp-3f), r2, hn::Add(r, hn::Set(d, 1.0f)));
  const FloatVec high =
      hn::MulAdd(hn::Set(d, 0x1.6d113cp-10f), r2, line(0x1.55551ap-5f, 0x1.120ba2p-7f));
  const FloatVec power = hn::MulAdd(high, hn::Mul(r2, r2), low);
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, shifted));
  return hn::Add(sum, hn::BitCast(d, hn::Add(hn::BitCast(bits, power), exponent)));
}

#endif

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
