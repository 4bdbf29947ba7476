// SPDX-License-Identifier: Apache-2.0
// Approximations in pairs of FLOAT32 by pieces, for AVX-512: AVX2 takes seven instructions for what
// that looks up in one. Included once for each instruction set, hence the unusual guard.
#if defined(DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_PIECES_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_PIECES_INL_H_
#undef DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_PIECES_INL_H_
#else
#define DMLOP_KERNELS_ELEMENT_WISE_TRANSCENDENTAL_QUICK_PIECES_INL_H_
#endif

#include <algorithm>

#include "core/kernels/element_wise/transcendental/pieces-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// --- tanh ----------------------------------------------------------------------------------------

struct TanhSeries {
  // y' = 1 - y^2.
  static constexpr Series At(double, double y) {
    Series series{y};
    for (size_t n = 0; n + 1 < series.size(); ++n) {
      double term = n == 0 ? 1.0 : 0.0;
      for (size_t k = 0; k <= n; ++k) term -= series[k] * series[n - k];
      series[n + 1] = term / static_cast<double>(n + 1);
    }
    return series;
  }
};

// The pieces are longer where tanh bends less: they end where 37 * x / (x + 1.61) is a whole number
// and a half.
constexpr Pieces<5> TanhPieces() {
  PieceEnds ends{};
  for (size_t i = 1; i < ends.size(); ++i) {
    const double end = static_cast<double>(i) - 0.5;
    ends[i] = 1.61 * end / (37.0 - end);
  }
  Pieces<5> pieces =
      PiecesAt<5>({0.0F,           0x1.6b6b2ap-5F, 0x1.76a0b8p-4F, 0x1.276e34p-3F, 0x1.8b4a78p-3F,
                   0x1.01d1e4p-2F, 0x1.3c7a3cp-2F, 0x1.7fbp-2F,    0x1.c905ccp-2F, 0x1.0784eap-1F,
                   0x1.31ad9p-1F,  0x1.5da272p-1F, 0x1.8a0eecp-1F, 0x1.bf356cp-1F, 0x1.f6ba68p-1F,
                   0x1.1a2e74p+0F, 0x1.3a00eep+0F, 0x1.5d2bf2p+0F, 0x1.855e9ep+0F, 0x1.b5365ep+0F,
                   0x1.e66584p+0F, 0x1.105bd8p+1F, 0x1.2dd6cap+1F, 0x1.5392fp+1F,  0x1.7c4658p+1F,
                   0x1.ad09aap+1F, 0x1.eb46fap+1F, 0x1.16be7cp+2F, 0x1.4376e8p+2F, 0x1.754d8p+2F,
                   0x1.bb9d3ap+2F, 0x1.0a2b24p+3F});
  SetPieces<TanhSeries>(pieces, 0, 31, 0.0, ends);
  return pieces;
}
template <class D>
inline constexpr Pieces<5> kTanhPieces = TanhPieces();

// From 9.1 on, tanh rounds to 1. What counts are the roundings of r^2 * terms, which is at most
// 2^-9.5 of the result. Together they were found to be up to 2^-31.9 of it.
struct QuickTanhByPieces {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const auto magnitude = hn::Min(hn::Set(d, 9.1F), hn::Abs(x));  // NaN if x is
    const auto inverse = hn::ApproximateReciprocal(hn::Add(magnitude, hn::Set(d, 1.61F)));
    const auto shifted = hn::NegMulAdd(inverse, hn::Set(d, 37 * 1.61F), hn::Set(d, 0x1.8p23F + 37));
    const LongEntry<D> entry(d, hn::BitCast(Bits<D>(), shifted));
    const auto r = hn::Sub(magnitude, entry(d, kTanhPieces<D>.centers));
    return WithSignOf(d, x, RoundWithin(d, PieceValue(d, entry, kTanhPieces<D>, r), 0x1.4p-32F));
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3

#endif
