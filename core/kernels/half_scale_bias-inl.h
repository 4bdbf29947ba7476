// Per instruction set with fused multiplication and addition: the arithmetic of ScaleBias for
// FLOAT16. Included by kernel sources after foreach_target.h, once for each set.

#if defined(DMLOP_HALF_SCALE_BIAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DMLOP_HALF_SCALE_BIAS_INL_H_
#undef DMLOP_HALF_SCALE_BIAS_INL_H_
#else
#define DMLOP_HALF_SCALE_BIAS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#include "core/kernels/scale_bias.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_NATIVE_FMA

// x * Scale + Bias for FLOAT16 values in vectors of FLOAT32, rounded so that it can be rounded once
// more.
#if HWY_TARGET <= HWY_AVX3

// Rounds to odd: of the two FLOAT32 around a result that is none, takes the one with the odd
// mantissa. It is never halfway between two FLOAT16, and on the right side of what is.
class HalfScaleBias {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  explicit HWY_ATTR HalfScaleBias(const ScaleBias& scale_bias)
      : scale_(hn::Set(D(), scale_bias.scale)), bias_(hn::Set(D(), scale_bias.bias)) {}

  HWY_INLINE V operator()(V x) const {
    const hn::RebindToUnsigned<D> du;
    constexpr int kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    constexpr int kUp = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
    const V below{_mm512_fmadd_round_ps(x.raw, scale_.raw, bias_.raw, kDown)};
    const V above{_mm512_fmadd_round_ps(x.raw, scale_.raw, bias_.raw, kUp)};
    const auto is_odd = hn::TestBit(hn::BitCast(du, below), hn::Set(du, 1));
    return hn::IfThenElse(hn::RebindMask(D(), is_odd), below, above);
  }

 private:
  V scale_;
  V bias_;
};

#else

class HalfScaleBias {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  explicit HWY_ATTR HalfScaleBias(const ScaleBias& scale_bias)
      : scale_(scale_bias.scale),
        bias_(scale_bias.bias),
        has_exact_products_(!(std::abs(scale_bias.scale) < 0x1p-60f)) {}

  // The FLOAT32 nearest to the result is as good, unless it lies halfway between two FLOAT16 and
  // is itself rounded: then it must not be taken for a tie, and is rounded to odd, which is never
  // halfway and on the right side of what is.
  HWY_INLINE V operator()(V x) const {
    const D d;
    const V scale = hn::Set(d, scale_);
    const V bias = hn::Set(d, bias_);
    const V y = hn::MulAdd(x, scale, bias);
    const auto doubtful = Doubtful(y);
    if (HWY_LIKELY(hn::AllFalse(d, doubtful))) return y;
    const V product = hn::Mul(x, scale);
    const V product_tail = hn::MulSub(x, scale, product);
    const V tail = SumTail(product, bias, hn::Add(product, bias));
    const V zero = hn::Zero(d);
    const auto exact = hn::And(hn::Eq(product_tail, zero), hn::Eq(tail, zero));
    if (has_exact_products_ && hn::AllTrue(d, hn::Or(exact, hn::Not(doubtful)))) return y;
    return hn::IfThenElse(doubtful, RoundedToOdd(x, y), y);
  }

 private:
  static constexpr uint32_t kSmallestNormal = 0x38800000;  // of FLOAT16: 2^-14

  // Halfway between two normal numbers of FLOAT16, or among its subnormal ones.
  static HWY_INLINE hn::Mask<D> Doubtful(V y) {
    const D d;
    const hn::RebindToUnsigned<D> du;
    const auto dropped = hn::And(hn::BitCast(du, y), hn::Set(du, 0x1FFFu));
    const auto halfway = hn::Eq(dropped, hn::Set(du, 0x1000u));
    const auto magnitude = hn::BitCast(du, hn::Abs(y));
    const auto one = hn::Set(du, 1u);
    const auto subnormal = hn::Lt(hn::Sub(magnitude, one), hn::Set(du, kSmallestNormal - 1));
    return hn::RebindMask(d, hn::Or(halfway, subnormal));
  }

  // What sum = a + b lacks; exact.
  template <class Vec>
  static HWY_INLINE Vec SumTail(Vec a, Vec b, Vec sum) {
    const Vec b_part = hn::Sub(sum, a);
    return hn::Add(hn::Sub(a, hn::Sub(sum, b_part)), hn::Sub(b, b_part));
  }

  // Of the two FLOAT32 around a result that is none, the one with the odd mantissa; y is the
  // nearest one.
  HWY_INLINE V RoundedToOdd(V x, V y) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const auto missing =
        hn::Combine(d, Missing(hn::UpperHalf(hn::Half<D>(), x), hn::UpperHalf(hn::Half<D>(), y)),
                    Missing(hn::LowerHalf(x), hn::LowerHalf(y)));
    const auto one = hn::Set(di, 1);
    const auto bits = hn::BitCast(di, y);
    const auto away = hn::BroadcastSignBit(hn::Xor(bits, hn::BitCast(di, missing)));  // 0 or -1
    const auto neighbour = hn::Add(bits, hn::Or(away, one));
    const auto is_odd = hn::Eq(hn::And(bits, one), one);
    const auto is_exact = hn::Eq(hn::BitCast(di, missing), hn::Zero(di));
    return hn::BitCast(d, hn::IfThenElse(hn::Or(is_odd, is_exact), bits, neighbour));
  }

  // The sign of what y lacks: a number of that sign, or +0.
  HWY_INLINE hn::Vec<hn::Half<D> > Missing(hn::Vec<hn::Half<D> > x, hn::Vec<hn::Half<D> > y) const {
    const hn::ScalableTag<double> d;
    // Exact in binary64.
    const auto product = hn::Mul(hn::PromoteTo(d, x), hn::Set(d, static_cast<double>(scale_)));
    const auto bias = hn::Set(d, static_cast<double>(bias_));
    const auto sum = hn::Add(product, bias);
    const auto missing = hn::Add(hn::Sub(sum, hn::PromoteTo(d, y)), SumTail(product, bias, sum));
    return hn::DemoteTo(hn::Half<D>(), hn::Mul(missing, hn::Set(d, 0x1p200)));
  }

  float scale_;
  float bias_;
  bool has_exact_products_;  // or tails of products that FLOAT32 can hold
};

#endif

#endif  // HWY_NATIVE_FMA

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
