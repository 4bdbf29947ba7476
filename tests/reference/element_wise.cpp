// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/element_wise.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <optional>

#include "tests/reference/element_parts.h"

namespace dmlop::reference {
namespace {

using enum DataType;
using enum ElementWiseFunction;

template <typename N>
bool Compared(ElementWiseFunction function, N a, N b) {
  switch (function) {
    case kEquals:
      return a == b;
    case kGreaterThan:
      return a > b;
    case kLessThan:
      return a < b;
    case kGreaterThanOrEqual:
      return a >= b;
    default:
      assert(function == kLessThanOrEqual);
      return a <= b;
  }
}

bool IsComparison(ElementWiseFunction function) {
  return function >= kEquals && function <= kLessThanOrEqual;
}

// Functions of nothing but the bits.
std::optional<uint64_t> ElementOfBits(ElementWiseFunction function,
                                      std::span<const StoredElement> inputs) {
  const uint64_t a = inputs[0].bits;
  const uint64_t b = inputs.size() > 1 ? inputs[1].bits : 0;
  switch (function) {
    case kBitAnd:
      return a & b;
    case kBitOr:
      return a | b;
    case kBitXor:
      return a ^ b;
    case kBitNot:
      return Wrapped(~Integer{a}, inputs[0].type);
    case kBitCount:
      return std::popcount(a);
    case kIf:
      return inputs[2].bits != 0 ? a : b;
    default:
      return std::nullopt;
  }
}

// CAST.
uint64_t Converted(const StoredElement& element, DataType type) {
  if (element.type == type) return element.bits;
  if (!IsFloat(element.type)) {
    const Integer value = IntegerOf(element);
    if (!IsFloat(type)) return Wrapped(value, type);
    const double high = static_cast<double>(static_cast<int64_t>(value >> 32));
    const double low = static_cast<double>(static_cast<uint64_t>(value) & 0xFFFFFFFF);
    return Rounded(Exact(high) * Exact(0x1p32) + Exact(low), high * 0x1p32 + low, type);
  }
  const double value = FloatOf(element);
  return Rounded(Exact(std::isfinite(value) ? value : 0), value, type);
}

// The first input after ScaleBias: SB-2 to SB-4, ID-8 to ID-10.
StoredElement Scaled(const StoredElement& element, const ScaleBias& scale_bias, bool keeps_type) {
  const auto [scale, bias] = scale_bias;
  if (!IsFloat(element.type)) {
    const double value = static_cast<double>(IntegerOf(element)) * static_cast<double>(scale) +
                         static_cast<double>(bias);
    return {element.type, Clamped(Real(value), element.type)};
  }
  const DataType type = keeps_type ? element.type : kFloat32;
  const double x = FloatOf(element);
  return {type, Rounded(Affine(Exact(x), Exact(scale), Exact(bias)),
                        Affine(x, static_cast<double>(scale), static_cast<double>(bias)), type)};
}

uint64_t InSequence(const ElementParameters& parameters, const StoredElement& place,
                    DataType type) {
  const auto& [start, delta] = parameters.integers;
  if (!IsFloat(type)) return Wrapped(Integer{start} + IntegerOf(place) * delta, type);
  const double p = parameters.numbers[0];
  const double q = parameters.numbers[1];
  const double k = FloatOf(place);
  if (k == 0) return Rounded(Exact(p), p, type);  // FIL-3: Start itself
  return Rounded(Exact(p) + Exact(k) * Exact(q), p + k * q, type);
}

}  // namespace

uint64_t ElementOf(const ElementWiseCall& call, std::span<const StoredElement> inputs,
                   DataType output) {
  const ElementWiseFunction function = call.function;
  StoredElement first = inputs[0];
  if (call.scale_bias) {
    const bool keeps_type =
        function == kAbs || function == kClip || function == kThreshold || function == kCast;
    first = Scaled(first, *call.scale_bias, keeps_type || first.type == kFloat32);
  }
  if (const auto bits = ElementOfBits(function, inputs)) return *bits;
  if (function == kCast) return Converted(first, output);
  if (function == kQuantize) return Quantized(call.parameters, inputs, output);
  if (function == kQuantizedLinearAdd) return QuantizedSum(call.parameters, inputs, output);
  if (function == kSequence) return InSequence(call.parameters, first, output);
  if (function == kDequantize) return Dequantized(inputs, output);
  if (!IsFloat(first.type) && function != kShrink) {
    const Integer a = IntegerOf(first);
    const Integer b = inputs.size() > 1 ? IntegerOf(inputs[1]) : 0;
    if (IsComparison(function)) return Compared(function, a, b);
    return Wrapped(ElementOfIntegers(function, call.parameters, first.type, a, b), output);
  }
  FloatCall floats{call.parameters, {}, output};
  floats.x[0] = Quantity(first);
  for (size_t k = 1; k < inputs.size(); ++k) floats.x[k] = Quantity(inputs[k]);
  const double x = floats.x[0];
  switch (function) {
    case kIsNan:
      return std::isnan(x);
    case kIsInfinity:
      return std::isinf(x);
    case kIsPositiveInfinity:
      return std::isinf(x) && x > 0;
    case kIsNegativeInfinity:
      return std::isinf(x) && x < 0;
    case kClipGrad:
      return x <= floats.p(0) || x >= floats.p(1) ? 0 : inputs[1].bits;
    case kReluGrad:
      return x > 0 ? inputs[1].bits : 0;
    default:
      return IsComparison(function) ? Compared(function, x, floats.x[1])
                                    : ElementOfFloats(function, floats);
  }
}

}  // namespace dmlop::reference
