// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/normalization/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/kernels/normalization/blocks-inl.h"
#include "core/kernels/normalization/normalize.h"
#include "core/kernels/reduce/powers_of_two.h"
#include "core/kernels/simd/dispatch.h"
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

// The result does not depend on the order of elements, except for the sign of a zero.
template <typename T>
HWY_ATTR float MaxOfRow(const T* x, int64_t count) {
  const Floats d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  FloatVec max = hn::Set(d, -INFINITY);
  FloatVec other = max;
  const auto larger = [](FloatVec a, FloatVec b)
                          HWY_ATTR { return hn::IfThenElse(hn::Gt(a, b), a, b); };
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    max = larger(LoadFloats(d, x + i), max);
    other = larger(LoadFloats(d, x + i + lanes), other);
  }
  for (; i + lanes <= count; i += lanes) max = larger(LoadFloats(d, x + i), max);
  if (i < count) max = larger(LoadRest(d, x + i, count - i), max);
  max = larger(max, other);
  HWY_ALIGN float all[hn::MaxLanes(Floats())];
  hn::Store(max, d, all);
  return *std::max_element(all, all + lanes);
}

template <bool kCounted, typename T>
HWY_INLINE ExpTerms SumOfExp(const T* x, int64_t count, double max, double* terms) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const WideVec shift = hn::Set(d, max);
  const WideVec zero = hn::Zero(d);
  const WideVec lowest = hn::Set(d, -INFINITY);
  BlockSums sums(0);
  BlockSums maxima(0);
  ForBlocks(x, count, kMinusInfinity<T>, [&](int64_t i, const T* block) HWY_ATTR {
    for (size_t v = 0; v < kBlockVectors; ++v) {
      const int64_t at = static_cast<int64_t>(v) * lanes;
      const WideVec below = hn::Sub(LoadWide(block + at), shift);
      WideVec term = ShiftedExp(below);
      if constexpr (kCounted) {
        const auto is_max = hn::Eq(below, zero);
        maxima.parts[v] = hn::Add(maxima.parts[v], hn::IfThenElseZero(is_max, hn::Set(d, 1.0)));
        term = hn::IfThenZeroElse(hn::Or(is_max, hn::Eq(below, lowest)), term);
      }
      sums.parts[v] = hn::Add(sums.parts[v], term);
      if (!kCounted && terms != nullptr) hn::StoreU(term, d, terms + i + at);
    }
  });
  return {sums.Total(), kCounted ? maxima.Total() : 0};
}

template <typename T>
HWY_ATTR ExpTerms ExpSum(const T* x, int64_t count, double max, double* terms) {
  return SumOfExp<false>(x, count, max, terms);
}

template <typename T>
HWY_ATTR ExpTerms CountedExpSum(const T* x, int64_t count, double max) {
  return SumOfExp<true>(x, count, max, nullptr);
}

template <typename T>
HWY_ATTR void ScaleTerms(const double* terms, int64_t count, double factor, T* y) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  WriteBlocks(count, y, [&](int64_t i, T* block) HWY_ATTR {
    for (int64_t at = 0; at < kBlock; at += lanes) {
      StoreRounded(hn::Mul(hn::LoadU(d, terms + i + at), hn::Set(d, factor)), block + at);
    }
  });
}

template <typename T>
HWY_ATTR void Subtract(const T* x, int64_t count, double max, double log, T* y) {
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const BlockRow<T> row(x, count);
  WriteBlocks(count, y, [&](int64_t i, T* block) HWY_ATTR {
    const T* const from = row.At(i);
    for (int64_t at = 0; at < kBlock; at += lanes) {
      const WideVec below = hn::Sub(LoadWide(from + at), hn::Set(d, max));
      StoreRounded(hn::Sub(below, hn::Set(d, log)), block + at);
    }
  });
}

template <typename T>
const SoftmaxKernels<T>& SoftmaxTable() {
  static constexpr SoftmaxKernels<T> kKernels = {MaxOfRow<T>, ExpSum<T>, CountedExpSum<T>,
                                                 ScaleTerms<T>, Subtract<T>};
  return kKernels;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
const SoftmaxKernels<T>& SoftmaxKernelsFor() {
  static constexpr IsaForms<const SoftmaxKernels<T>&()> kTables = DMLOP_ISA_FORMS(SoftmaxTable<T>);
  return Choose(kTables)();
}

template const SoftmaxKernels<float>& SoftmaxKernelsFor<float>();
template const SoftmaxKernels<Half>& SoftmaxKernelsFor<Half>();

}  // namespace dmlop
#endif
