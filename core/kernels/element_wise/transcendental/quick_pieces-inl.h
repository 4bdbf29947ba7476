// SPDX-License-Identifier: Apache-2.0
// Approximations in pairs of FLOAT32 by pieces, for AVX-512: AVX2 takes seven instructions for what
// that looks up in one.
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

// --- asin ----------------------------------------------------------------------------------------

struct AsinSeries {
  // (1 - x^2) * y'' = x * y'.
  static constexpr Series At(double x, double y) {
    const double square = 1.0 - x * x;
    double root = 1.0;
    for (int i = 0; i < 8; ++i) root = (root + square / root) / 2.0;
    Series series{y};
    double before = 0.0;
    double term = 1.0 / root;
    for (size_t n = 0; n + 1 < series.size(); ++n) {
      const double size = static_cast<double>(n);
      series[n + 1] = term / (size + 1.0);
      const double next = x * (2.0 * size + 1.0) * term + size * before;
      before = term;
      term = next / (square * (size + 1.0));
    }
    return series;
  }
};

// pi / 2 - 2 * asin(x * sqrt(1/2)).
struct RestOfAsinSeries {
  static constexpr Series At(double x, double y) {
    constexpr double kRoot = 0x1.6a09e667f3bcdp-1;
    Series series = AsinSeries::At(x * kRoot, 0.0);
    double scale = -2.0;
    for (double& term : series) {
      term *= scale;
      scale *= kRoot;
    }
    series[0] = y;
    return series;
  }
};

// The first half has asin s, the second pi / 2 - 2 * asin(s * sqrt(1/2)), with s up to .618.
constexpr Pieces<4> AsinPieces() {
  PieceEnds ends{};
  for (size_t i = 1; i < ends.size(); ++i) ends[i] = (static_cast<double>(i) - 0.5) / 25.0;
  Pieces<4> pieces =
      PiecesAt<4>({0.0F,           0x1.51d364p-5F, 0x1.517366p-4F, 0x1.ee4636p-4F, 0x1.48d42ep-3F,
                   0x1.95773ep-3F, 0x1.e7e9e8p-3F, 0x1.20746cp-2F, 0x1.49de3cp-2F, 0x1.716434p-2F,
                   0x1.99797ep-2F, 0x1.c484c2p-2F, 0x1.ea0b5ap-2F, 0x1.094958p-1F, 0x1.1dc4f6p-1F,
                   0x1.34039p-1F,  0x1.521ebep-7F, 0x1.5137f4p-5F, 0x1.4d25d2p-4F, 0x1.e9d208p-4F,
                   0x1.45e51cp-3F, 0x1.97744p-3F,  0x1.e6e216p-3F, 0x1.1e49ccp-2F, 0x1.466752p-2F,
                   0x1.729624p-2F, 0x1.9b9232p-2F, 0x1.c09bd2p-2F, 0x1.e91d78p-2F, 0x1.0a9132p-1F,
                   0x1.1ee5cp-1F,  0x1.32032p-1F});
  SetPieces<AsinSeries>(pieces, 0, 15, 0.0, ends);
  SetPieces<RestOfAsinSeries>(pieces, 16, 31, 0x1.921fb54442d18p+0, ends);
  return pieces;
}
template <class D>
inline constexpr Pieces<4> kAsinPieces = AsinPieces();

// For |x| above .618, s is sqrt(1 - |x|), a pair, else |x|. What counts are the centers of the
// first pieces, which err by up to 2^-32.3 of the result. 1 and what is beyond has no root or no
// inverse root, and is undecided.
struct QuickAsinByPieces {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const auto magnitude = hn::Abs(x);
    const auto is_large = hn::Gt(magnitude, hn::Set(d, 0.618F));
    const auto square = hn::Sub(hn::Set(d, 1.0F), magnitude);
    const auto root = hn::Sqrt(square);
    const auto half_inverse = hn::Mul(hn::ApproximateReciprocalSqrt(square), hn::Set(d, 0.5F));
    const auto root_tail = hn::Mul(hn::NegMulAdd(root, root, square), half_inverse);
    const Pair<D> s = {hn::IfThenElse(is_large, root, magnitude),
                       hn::IfThenElseZero(is_large, root_tail)};
    const auto shifter =
        hn::IfThenElse(is_large, hn::Set(d, 0x1.8p23F + 16), hn::Set(d, 0x1.8p23F));
    const auto shifted = hn::MulAdd(s.head, hn::Set(d, 25.0F), shifter);
    const LongEntry<D> entry(d, hn::BitCast(Bits<D>(), shifted));
    const Pair<D> r = {hn::Sub(s.head, entry(d, kAsinPieces<D>.centers)), s.tail};
    return WithSignOf(d, x, RoundWithin(d, PieceValue(d, entry, kAsinPieces<D>, r), 0x1p-32F));
  }
};

// --- atanh ---------------------------------------------------------------------------------------

struct AtanhSeries {
  // (1 - x^2) * y' = 1.
  static constexpr Series At(double x, double y) {
    const double square = 1.0 - x * x;
    Series series{y};
    double before = 0.0;
    double term = 1.0 / square;
    for (size_t n = 0; n + 1 < series.size(); ++n) {
      series[n + 1] = term / static_cast<double>(n + 1);
      const double next = (2.0 * x * term + before) / square;
      before = term;
      term = next;
    }
    return series;
  }
};

// ln x / 2.
struct HalfLogSeries {
  static constexpr Series At(double x, double y) {
    Series series{y};
    double term = 0.5;
    for (size_t n = 1; n < series.size(); ++n) {
      term /= x;
      series[n] = term / static_cast<double>(n);
      term = -term;
    }
    return series;
  }
};

// Up to 1/2 they have atanh, and from there on ln x / 2.
constexpr Pieces<4> AtanhPieces() {
  PieceEnds ends{};
  for (size_t i = 1; i < ends.size(); ++i) ends[i] = (static_cast<double>(i) - 0.5) / 31.0;
  Pieces<4> pieces =
      PiecesAt<4>({0.0F,           0x1.f78a2cp-6F, 0x1.101a42p-4F, 0x1.936376p-4F, 0x1.0b050ap-3F,
                   0x1.4ac3c6p-3F, 0x1.8d63eep-3F, 0x1.cd7f8cp-3F, 0x1.08aa3cp-2F, 0x1.2a53cep-2F,
                   0x1.49d65ap-2F, 0x1.6ba856p-2F, 0x1.8b4214p-2F, 0x1.abe272p-2F, 0x1.cfc3bp-2F,
                   0x1.ee0f4p-2F,  0x1.08dedap-1F, 0x1.17f4dap-1F, 0x1.292a0ap-1F, 0x1.3a433ap-1F,
                   0x1.4ade1ap-1F, 0x1.5ba05ap-1F, 0x1.6bf76cp-1F, 0x1.7af6d6p-1F, 0x1.8c7fb8p-1F,
                   0x1.9c2386p-1F, 0x1.adf4p-1F,   0x1.beac9p-1F,  0x1.ceb888p-1F, 0x1.dfc2cap-1F,
                   0x1.f05d8ap-1F, 0x1.fc2548p-1F});
  SetPieces<AtanhSeries>(pieces, 0, 15, 0.0, ends);
  std::copy(ends.begin() + 16, ends.end(), ends.begin());
  SetPieces<HalfLogSeries>(pieces, 16, 31, -0x1.62e42fefa39efp-2, ends);
  return pieces;
}
template <class D>
inline constexpr Pieces<4> kAtanhPieces = AtanhPieces();

// From 1/2 on, with w = (1 + |x|) / (1 - |x|), a pair, atanh |x| is ln w / 2: its exponent times
// ln 2 / 2, whose product with the first part of that is exact, and the piece of its mantissa. The
// logarithm of what w's tail adds is its share of w. What counts are the roundings of r^2 * terms,
// which is at most 2^-11 of the result. Together they were found to be up to 2^-32.7 of it. 1 and
// what is beyond has no mantissa.
struct QuickAtanhByPieces {
  template <class D>
  HWY_INLINE Rounded<D> operator()(D d, hn::Vec<D> x) const {
    const auto one = hn::Set(d, 1.0F);
    const auto two = hn::Set(d, 2.0F);
    const auto half = hn::Set(d, 0.5F);
    const auto magnitude = hn::Abs(x);
    const auto is_large = hn::Ge(magnitude, half);
    const auto rest = hn::Sub(one, magnitude);
    const auto quotient = hn::Div(two, rest);
    const auto twice_tail = hn::Mul(hn::NegMulAdd(quotient, rest, two), quotient);
    const Pair<D> sum = SumOf(quotient, hn::Neg(one));
    const auto w_tail = hn::MulAdd(twice_tail, half, sum.tail);
    const hn::Vec<D> exponent{_mm512_getexp_ps(sum.head.raw)};
    const hn::Vec<D> mantissa{
        _mm512_getmant_ps(sum.head.raw, _MM_MANT_NORM_p5_1, _MM_MANT_SIGN_nan)};
    const auto k = hn::IfThenElseZero(is_large, hn::Add(exponent, one));
    const auto share =
        hn::IfThenElseZero(is_large, hn::Mul(w_tail, hn::ApproximateReciprocal(sum.head)));
    const auto s = hn::IfThenElse(is_large, mantissa, magnitude);
    const auto shifted = hn::MulAdd(s, hn::Set(d, 31.0F), hn::Set(d, 0x1.8p23F));
    const LongEntry<D> entry(d, hn::BitCast(Bits<D>(), shifted));
    const auto r = hn::Sub(s, entry(d, kAtanhPieces<D>.centers));
    const Pair<D> value = PieceValue(d, entry, kAtanhPieces<D>, r);
    const Pair<D> y = SumOf(hn::Mul(k, hn::Set(d, 0x1.62e4p-2F)), value.head);
    const auto tails = hn::MulAdd(k, hn::Set(d, 0x1.7f7d1cp-21F), hn::Add(y.tail, value.tail));
    const Pair<D> with_share = {y.head, hn::MulAdd(share, half, tails)};
    return WithSignOf(d, x, RoundWithin(d, with_share, 0x1.8p-33F));
  }
};

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HWY_TARGET == HWY_AVX3

#endif
