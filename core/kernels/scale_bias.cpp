#include "core/kernels/scale_bias.h"

// Compiled once per instruction set; see the Highway documentation on foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/scale_bias.cpp"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "core/kernels/dispatch.h"
#include "core/kernels/scale_bias_element.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// As many whole vectors as there are, and how many elements that is. Where the instruction set has
// no vectors for it, the element function gives the same bits.
template <typename T>
int64_t ScaleBiasVectors(const ScaleBias&, int64_t, T*, const T*) {
  return 0;
}

#if HWY_NATIVE_FMA

template <class D>
HWY_INLINE hn::Vec<D> CanonicalNan(D d, hn::Vec<D> v) {
  const auto canonical = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7FC00000u));
  return hn::IfThenElse(hn::IsNaN(v), canonical, v);
}

inline HWY_ATTR int64_t ScaleBiasVectors(const ScaleBias& scale_bias, int64_t count, float* to,
                                         const float* from) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, scale_bias.scale);
  const auto bias = hn::Set(d, scale_bias.bias);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto y = hn::MulAdd(hn::LoadU(d, from + i), scale, bias);
    hn::StoreU(CanonicalNan(d, y), d, to + i);
  }
  return i;
}

// x * Scale + Bias for FLOAT16 values in vectors of FLOAT32, rounded so that it can be rounded once
// more.
class HalfScaleBias {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  explicit HWY_ATTR HalfScaleBias(const ScaleBias& scale_bias)
      : scale_(scale_bias.scale),
        bias_(scale_bias.bias),
        has_exact_products_(!(std::abs(scale_bias.scale) < 0x1p-60f)) {}

  // The FLOAT32 nearest to the result is as good, unless it lies halfway between two FLOAT16 and
  // is itself rounded: then it must not be taken for a tie.
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
  // nearest one. It is never halfway between two FLOAT16, and on the right side of what is.
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
  HWY_INLINE hn::Vec<hn::Half<D>> Missing(hn::Vec<hn::Half<D>> x, hn::Vec<hn::Half<D>> y) const {
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

inline HWY_ATTR int64_t ScaleBiasVectors(const ScaleBias& scale_bias, int64_t count, Half* to,
                                         const Half* from) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const HalfScaleBias compute(scale_bias);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from + i));
    const auto y = CanonicalNan(d, compute(hn::PromoteTo(d, x)));
    hn::StoreU(hn::DemoteTo(dh, y), dh, reinterpret_cast<hwy::float16_t*>(to + i));
  }
  return i;
}

#endif  // HWY_NATIVE_FMA

#if HWY_TARGET != HWY_SCALAR

template <typename T, class D>
HWY_INLINE hn::Vec<D> LoadDoubles(D d, const T* from) {
  const hn::Rebind<int32_t, D> d32;
  const auto x = hn::LoadU(hn::Rebind<T, D>(), from);
  if constexpr (std::is_same_v<T, uint32_t>) {
    const auto less = hn::Xor(hn::BitCast(d32, x), hn::Set(d32, INT32_MIN));  // by 2^31
    return hn::Add(hn::PromoteTo(d, less), hn::Set(d, 0x1p31));
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return hn::PromoteTo(d, x);
  } else {
    return hn::PromoteTo(d, hn::PromoteTo(d32, x));
  }
}

// Truncated; inside the type's range.
template <typename T, class D>
HWY_INLINE void StoreIntegers(D d, hn::Vec<D> y, T* to) {
  const hn::Rebind<int32_t, D> d32;
  const hn::Rebind<T, D> dt;
  if constexpr (std::is_same_v<T, uint32_t>) {
    const auto less = hn::DemoteTo(d32, hn::Sub(hn::Trunc(y), hn::Set(d, 0x1p31)));
    hn::StoreU(hn::BitCast(dt, hn::Xor(less, hn::Set(d32, INT32_MIN))), dt, to);
  } else if constexpr (std::is_same_v<T, int32_t>) {
    hn::StoreU(hn::DemoteTo(d32, y), dt, to);
  } else {
    hn::StoreU(hn::DemoteTo(dt, hn::DemoteTo(d32, y)), dt, to);
  }
}

template <typename T>
requires std::is_integral_v<T> HWY_ATTR int64_t ScaleBiasVectors(const ScaleBias& scale_bias,
                                                                 int64_t count, T* to,
                                                                 const T* from) {
  const hn::ScalableTag<double> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, static_cast<double>(scale_bias.scale));
  const auto bias = hn::Set(d, static_cast<double>(scale_bias.bias));
  const auto low = hn::Set(d, static_cast<double>(std::numeric_limits<T>::min()));
  const auto high = hn::Set(d, static_cast<double>(std::numeric_limits<T>::max()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto y = hn::Add(hn::Mul(LoadDoubles(d, from + i), scale), bias);
    const auto number = hn::IfThenElseZero(hn::Eq(y, y), y);
    StoreIntegers(d, hn::Min(hn::Max(number, low), high), to + i);
  }
  return i;
}

#endif  // HWY_TARGET != HWY_SCALAR

template <typename T>
HWY_ATTR void ScaleBiasRow(const ScaleBias& scale_bias, int64_t count, std::byte* to,
                           const std::byte* from) {
  T* to_row = reinterpret_cast<T*>(to);
  const T* from_row = reinterpret_cast<const T*>(from);
  for (int64_t i = ScaleBiasVectors(scale_bias, count, to_row, from_row); i < count; ++i) {
    to_row[i] = ScaleBiasElement(scale_bias, from_row[i]);
  }
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "core/tensor/visit_data_type.h"

namespace dmlop {

namespace {
template <typename T>
constexpr IsaForms<std::remove_pointer_t<ScaleBiasFunction>> kScaleBiasRow =
    DMLOP_ISA_FORMS(ScaleBiasRow<T>);
}  // namespace

ScaleBiasFunction ScaleBiasFor(DataType type) {
  ScaleBiasFunction function = nullptr;
  VisitDataType(Join<Floats, Integers32, Integers16, Integers8>(), type,
                [&]<typename T>() { function = Choose(kScaleBiasRow<T>); });
  return function;
}

}  // namespace dmlop

#endif  // HWY_ONCE
