// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/element_wise/affine.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "core/kernels/element_wise/odd-inl.h"
#include "core/kernels/element_wise/row.h"
#include "core/kernels/element_wise/rows-inl.h"
#include "core/kernels/reduce/round_results-inl.h"
#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {
namespace {

// Elements and parameters are FLOAT32 values, so FLOAT64 holds the product of two exactly, without
// overflow or underflow.
template <class D>
HWY_INLINE hn::Vec<D> Number(D d, const ElementParameters& parameters, size_t index) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(parameters.numbers[index]));
}

struct MultiplyAddOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x, V y) const {
    return ToOdd(d, ExactSumOf(hn::Mul(Number(d, parameters, 0), x), y));
  }
};

struct MeanOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b) const {
    const V half = hn::Set(d, 0.5);
    return ToOdd(d, ExactSumOf(hn::Mul(a, half), hn::Mul(b, half)));
  }
};

// Computes a * a - 2 * a * b + b * b.
struct DifferenceSquareOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V a, V b) const {
    const V difference = hn::Sub(a, b);
    const V mixed = hn::Mul(hn::Mul(hn::Set(d, -2.0), a), b);
    const V exact = OddSumOf(d, hn::Mul(a, a), mixed, hn::Mul(b, b));
    return UnlessSpecial(d, exact, hn::Mul(difference, difference));
  }
};

struct LeakyOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x) const {
    return hn::IfThenElse(IsAtLeast(x, hn::Zero(d)), x, hn::Mul(Number(d, parameters, 0), x));
  }
};

struct LeakyWithSlopeOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x, V slope) const {
    return hn::IfThenElse(IsAtLeast(x, hn::Zero(d)), x, hn::Mul(slope, x));
  }
};

struct ShrunkOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x) const {
    const V bias = Number(d, parameters, 0);
    const V threshold = Number(d, parameters, 1);
    const auto is_above = hn::Gt(x, threshold);
    const auto is_outside = hn::Or(is_above, hn::Lt(x, hn::Neg(threshold)));
    const V added = hn::IfThenElse(is_above, hn::Neg(bias), bias);
    return hn::IfThenElseZero(is_outside, ToOdd(d, ExactSumOf(x, added)));
  }
};

template <class D, class V>
HWY_INLINE V ClampToOne(D d, V x) {
  return MaxOf(d, MinOf(d, x, hn::Set(d, 1.0)), hn::Zero(d));
}

// Computes Alpha * x + Beta, rounded to odd.
template <class D, class V>
HWY_INLINE V OddLinear(D d, const ElementParameters& parameters, V x) {
  return ToOdd(d, ExactSumOf(hn::Mul(Number(d, parameters, 0), x), Number(d, parameters, 1)));
}

struct HardSigmoidOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x) const {
    return ClampToOne(d, OddLinear(d, parameters, x));
  }
};

// Computes x * HardSigmoid(x), which between its bounds is Alpha * x * x + Beta * x.
struct HardSwishOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V x) const {
    const V product = hn::Mul(Number(d, parameters, 0), x);
    const V beta = Number(d, parameters, 1);
    const V linear = OddLinear(d, parameters, x);
    const V plain = hn::Mul(x, ClampToOne(d, linear));
    const Sum<V> parts = Halves<26>(d, product);
    const V exact = OddSumOf(d, hn::Mul(x, parts.head), hn::Mul(x, beta), hn::Mul(x, parts.tail));
    const auto is_inside = hn::And(hn::Gt(linear, hn::Zero(d)), hn::Lt(linear, hn::Set(d, 1.0)));
    return hn::IfThenElse(is_inside, UnlessSpecial(d, exact, plain), plain);
  }
};

// Two roundings contribute at most 2^-53 each.
struct SoftsignOf {
  static constexpr double kRelativeError = 0x1p-51;
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x) const {
    return hn::Div(x, hn::Add(hn::Abs(x), hn::Set(d, 1.0)));
  }
};

// Rounds a quotient to FLOAT32 and then to an integer, adds the zero point, and clamps to the range
// given by numbers 0 and 1. The result is in the low bits.
template <class D, class V>
HWY_INLINE auto Quantize(D d, const ElementParameters& parameters, V quotient, V zero_point) {
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
    quotient = hn::PromoteTo(d, ToFloats(d, quotient));
  }
  const V number = hn::IfThenElseZero(hn::Eq(quotient, quotient), quotient);
  const V min = hn::Sub(Number(d, parameters, 0), zero_point);
  const V max = hn::Sub(Number(d, parameters, 1), zero_point);
  // Adding a number this large leaves no bits for a fraction.
  const V shifter = hn::Set(d, std::is_same_v<hn::TFromD<D>, double> ? 0x1.8p52 : 0x1.8p23f);
  const V rounded = hn::Add(hn::Min(hn::Max(number, min), max), shifter);
  return hn::BitCast(hn::RebindToUnsigned<D>(), hn::Add(rounded, zero_point));
}

// In FLOAT64, the quotient of 32 and 24 bits is never so near to a rounding boundary of FLOAT32
// that its own rounding matters.
struct QuantizedOf {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters& parameters, V x, V scale,
                             V zero_point) const {
    return Quantize(d, parameters, hn::Div(x, scale), zero_point);
  }
};

// Serves integers and scales so short that difference and product are exact, or only the product is
// rounded: in FLOAT32 8 bits, as the difference times a FLOAT16 has 20 bits; in FLOAT64 16 bits, or
// 32 bits with a FLOAT16, a product of 44 bits.
struct ExactlyDequantizedOf {
  template <class D, class V>
  HWY_INLINE V operator()(D, const ElementParameters&, V x, V scale, V zero_point) const {
    return hn::Mul(hn::Sub(x, zero_point), scale);
  }
};

// The difference has up to 33 bits and its product with a FLOAT32 57, more than FLOAT64 holds. That
// matters only if the product is rounded to the midpoint of two FLOAT32 numbers. A subnormal
// product is exact, being a multiple of the least FLOAT32.
struct DequantizedOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters&, V x, V scale, V zero_point) const {
    const V difference = hn::Sub(x, zero_point);
    const V product = hn::Mul(difference, scale);
    const hn::RebindToUnsigned<D> du;
    const auto rest = hn::And(hn::BitCast(du, product), hn::Set(du, 0x1FFFFFFF));
    const auto is_middle = hn::Eq(rest, hn::Set(du, 0x10000000));
    if (HWY_LIKELY(hn::AllFalse(du, is_middle))) return product;
    const Sum<V> parts = Halves<26>(d, difference);
    const V exact = ToOdd(d, ExactSumOf(hn::Mul(parts.head, scale), hn::Mul(parts.tail, scale)));
    return UnlessSpecial(d, exact, product);
  }
};

// Divides an exact sum and rounds the quotient to odd.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V OddQuotient(D d, Sum<V> dividend, V divisor) {
  const V quotient = hn::Div(dividend.head, divisor);
  const Sum<V> parts = Halves<26>(d, quotient);
  const V rest =
      hn::Sub(hn::Sub(dividend.head, hn::Mul(parts.head, divisor)), hn::Mul(parts.tail, divisor));
  const V correction = hn::Div(hn::Add(rest, dividend.tail), divisor);
  return UnlessSpecial(d, ToOdd(d, ExactSumOf(quotient, correction)), quotient);
}

struct QuantizedSumOf {
  template <class D, class V>
  HWY_INLINE auto operator()(D d, const ElementParameters& parameters, V a, V b) const {
    const V a_value = hn::Mul(hn::Sub(a, Number(d, parameters, 3)), Number(d, parameters, 2));
    const V b_value = hn::Mul(hn::Sub(b, Number(d, parameters, 5)), Number(d, parameters, 4));
    const V quotient = OddQuotient(d, ExactSumOf(a_value, b_value), Number(d, parameters, 6));
    return Quantize(d, parameters, quotient, Number(d, parameters, 7));
  }
};

// Indices have up to 50 bits.
struct FloatSequenceOf {
  template <class D, class V>
  HWY_INLINE V operator()(D d, const ElementParameters& parameters, V place) const {
    const V start = Number(d, parameters, 0);
    const V delta = Number(d, parameters, 1);
    const Sum<V> parts = Halves<26>(d, place);
    const V exact = OddSumOf(d, hn::Mul(parts.head, delta), hn::Mul(parts.tail, delta), start);
    const V plain = hn::Add(hn::Mul(place, delta), start);
    const V value = hn::IfThenElse(hn::IsFinite(plain), exact, plain);
    return hn::IfThenElse(hn::Eq(place, hn::Zero(d)), start, value);  // whatever delta is
  }
};

template <class F, size_t kInputs>
constexpr ElementWiseRow WideRow(ElementWiseFunction function, DataTypeSet types = kFloats) {
  return Row<F, double, kInputs>(function, types);
}

template <class F, size_t kInputs>
constexpr ElementWiseRow Approximate(ElementWiseFunction function) {
  ElementWiseRow row = WideRow<F, kInputs>(function);
  row.relative_error = F::kRelativeError;
  return row;
}

// Quantizes from `Real` to Q.
template <class F, typename T, typename Real, typename Scale, typename Q>
constexpr ElementWiseRow Quantized() {
  ElementWiseRow row = RowOf<F, T, Q, Real, Scale, Q>(kQuantize);
  row.outputs = {kDataTypeOf<Q>};
  return row;
}

// Dequantizes from Q to `Real`.
template <class F, typename T, typename Q, typename Real>
constexpr ElementWiseRow Dequantized() {
  ElementWiseRow row = RowOf<F, T, Real, Q, Real, Q>(kDequantize);
  row.outputs = {kDataTypeOf<Real>};
  return row;
}

std::span<const ElementWiseRow> AffineTable() {
  static constexpr ElementWiseRow kRows[] = {
      WideRow<MultiplyAddOf, 2>(kMultiplyAdd),
      WideRow<MeanOf, 2>(kMean),
      WideRow<DifferenceSquareOf, 2>(kDifferenceSquare),
      Row<LeakyOf, float, 1>(kLeakyRelu),
      WideRow<LeakyOf, 1>(kLeakyRelu, {kFloat16}),
      Row<LeakyWithSlopeOf, float, 2>(kParameterizedRelu, kFloats),
      Row<LeakyWithSlopeOf, int32_t, 2>(kParameterizedRelu, {kInt8, kInt16, kInt32}),
      WideRow<ShrunkOf, 1>(kShrink,
                           {kFloat32, kFloat16, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32}),
      WideRow<HardSigmoidOf, 1>(kHardSigmoid),
      WideRow<HardSwishOf, 1>(kHardSwish),
      Approximate<SoftsignOf, 1>(kSoftsign),
      Quantized<QuantizedOf, float, float, float, int8_t>(),
      Quantized<QuantizedOf, float, float, float, uint8_t>(),
      Quantized<QuantizedOf, float, Half, Half, int8_t>(),
      Quantized<QuantizedOf, float, Half, Half, uint8_t>(),
      Quantized<QuantizedOf, double, int32_t, float, int8_t>(),
      Quantized<QuantizedOf, double, int32_t, float, uint8_t>(),
      Dequantized<ExactlyDequantizedOf, float, int8_t, float>(),
      Dequantized<ExactlyDequantizedOf, float, uint8_t, float>(),
      Dequantized<ExactlyDequantizedOf, float, int8_t, Half>(),
      Dequantized<ExactlyDequantizedOf, float, uint8_t, Half>(),
      Dequantized<ExactlyDequantizedOf, double, int16_t, float>(),
      Dequantized<ExactlyDequantizedOf, double, uint16_t, float>(),
      Dequantized<ExactlyDequantizedOf, double, int16_t, Half>(),
      Dequantized<ExactlyDequantizedOf, double, uint16_t, Half>(),
      Dequantized<DequantizedOf, double, int32_t, float>(),
      Dequantized<DequantizedOf, double, uint32_t, float>(),
      Dequantized<ExactlyDequantizedOf, double, int32_t, Half>(),
      Dequantized<ExactlyDequantizedOf, double, uint32_t, Half>(),
      Row<QuantizedSumOf, double, 2, uint8_t>(kQuantizedLinearAdd, {kInt8, kUint8}),
      WideRow<FloatSequenceOf, 1>(kSequence, {kFloat64}),
  };
  return kRows;
}

}  // namespace
}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

std::span<const ElementWiseRow> AffineRows() {
  return DMLOP_CHOOSE(AffineTable)();
}

}  // namespace dmlop
#endif
