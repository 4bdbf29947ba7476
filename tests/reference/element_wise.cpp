#include "tests/reference/element_wise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/tensor/visit_data_type.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/reference/element.h"

namespace dmlop::reference {
namespace {

using enum DataType;
using enum ElementWiseFunction;
__extension__ using Integer = __int128;

// Real numbers. Quotients and roots are rounded where no FLOAT32 has a bit.
class Exact {
 public:
  explicit Exact(double value) : value_(value, 1200) {}
  const Real& real() const { return value_; }

  friend Exact operator+(const Exact& a, const Exact& b) { return Of(mpfr_add, a, b); }
  friend Exact operator-(const Exact& a, const Exact& b) { return Of(mpfr_sub, a, b); }
  friend Exact operator*(const Exact& a, const Exact& b) { return Of(mpfr_mul, a, b); }
  friend Exact operator/(const Exact& a, const Exact& b) { return Of(mpfr_div, a, b); }
  friend Exact sqrt(const Exact& a) {
    Exact root(0.0);
    mpfr_sqrt(root.value_.get(), a.value_.get(), MPFR_RNDN);
    return root;
  }
  friend Exact fabs(const Exact& a) {
    Exact magnitude = a;
    mpfr_abs(magnitude.value_.get(), a.value_.get(), MPFR_RNDN);
    return magnitude;
  }
  friend bool operator<(const Exact& a, double b) { return mpfr_cmp_d(a.value_.get(), b) < 0; }
  friend bool operator>(const Exact& a, double b) { return mpfr_cmp_d(a.value_.get(), b) > 0; }

 private:
  static Exact Of(int (*operation)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Exact& a,
                  const Exact& b) {
    Exact result(0.0);
    operation(result.value_.get(), a.value_.get(), b.value_.get(), MPFR_RNDN);
    return result;
  }

  Real value_;
};

double FloatOf(const StoredElement& element) {
  switch (element.type) {
    case kFloat16:
      return ToFloat(FromBits<Half>(element.bits));
    case kFloat32:
      return FromBits<float>(element.bits);
    case kFloat64:
      return FromBits<double>(element.bits);
    default:
      assert(false);
      return 0;
  }
}

Integer IntegerOf(const StoredElement& element) {
  Integer value = 0;
  VisitDataType(Join<Integers64, Integers32, Integers16, Integers8>(), element.type,
                [&]<typename T>() { value = FromBits<T>(element.bits); });
  return value;
}

uint64_t Wrapped(Integer value, DataType type) {
  const auto low = static_cast<uint64_t>(value);
  return BitWidth(type) == 64 ? low : low & ((uint64_t{1} << BitWidth(type)) - 1);
}

Integer Least(DataType type) {
  return IsSigned(type) ? -(Integer{1} << (BitWidth(type) - 1)) : 0;
}
Integer Greatest(DataType type) {
  return (Integer{1} << (BitWidth(type) - (IsSigned(type) ? 1 : 0))) - 1;
}

// A value of the type that rounds it no more, or an infinity or NaN.
uint64_t BitsOfDouble(double value, DataType type) {
  if (type == kFloat16) return ToHalf(value).bits;
  if (type == kFloat32) {
    return std::isnan(value) ? 0x7FC00000u : std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  return std::isnan(value) ? 0x7FF8ull << 48 : std::bit_cast<uint64_t>(value);
}

template <typename Visitor>
auto OfFloatType(DataType type, Visitor&& visit) {
  if (type == kFloat16) return visit(Half{});
  if (type == kFloat32) return visit(float{});
  return visit(double{});
}

// Truncated and clamped.
uint64_t Clamped(const Real& value, DataType type) {
  if (mpfr_nan_p(value.get())) return 0;
  if (mpfr_inf_p(value.get())) {
    return Wrapped(mpfr_sgn(value.get()) < 0 ? Least(type) : Greatest(type), type);
  }
  mpz_t integer;
  mpz_init(integer);
  mpfr_get_z(integer, value.get(), MPFR_RNDZ);
  Integer result = mpz_sgn(integer) < 0 ? Least(type) : Greatest(type);
  if (mpz_sizeinbase(integer, 2) <= 64) {
    const Integer magnitude = mpz_get_ui(integer);
    const Integer signed_value = mpz_sgn(integer) < 0 ? -magnitude : magnitude;
    result = std::min(std::max(signed_value, Least(type)), Greatest(type));
  }
  mpz_clear(integer);
  return Wrapped(result, type);
}

// The exact value rounded once; `plain` is what IEEE arithmetic gives, which decides about zeros,
// infinities and NaN.
uint64_t Rounded(const Exact& exact, double plain, DataType type) {
  if (!IsFloat(type)) {
    return Clamped(std::isfinite(plain) ? exact.real() : Real(plain), type);
  }
  if (!std::isfinite(plain) || mpfr_zero_p(exact.real().get())) return BitsOfDouble(plain, type);
  return OfFloatType(type,
                     [&]<typename T>(T) { return uint64_t{BitsOf(RoundReal<T>(exact.real()))}; });
}

// RED-16, RED-17.
double PageMax(double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
double PageMin(double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename N>
N Affine(const N& factor, const N& x, const N& summand) {
  return factor * x + summand;
}

struct FloatCall {
  const ElementParameters& parameters;
  std::array<double, 3> x;
  DataType type;  // of the output

  double p(size_t k) const { return parameters.numbers[k]; }
  Exact E(size_t k) const { return Exact(x[k]); }
  Exact P(size_t k) const { return Exact(p(k)); }

  uint64_t Value(double value) const { return Rounded(Exact(value), value, type); }
  uint64_t Value(const Exact& exact, double plain) const { return Rounded(exact, plain, type); }
  uint64_t HardSigmoid() const;
  uint64_t HardSwish() const;
};

uint64_t FloatCall::HardSigmoid() const {
  const double plain = Affine(p(0), x[0], p(1));
  if (!std::isfinite(plain)) return Value(PageMax(0, PageMin(plain, 1)));
  const Exact exact = Affine(P(0), E(0), P(1));
  if (!(exact < 1)) return Value(1);
  if (!(exact > 0)) return Value(0);
  return Value(exact, plain);
}

uint64_t FloatCall::HardSwish() const {
  const double plain = Affine(p(0), x[0], p(1));
  if (!std::isfinite(plain)) return Value(x[0] * PageMax(0, PageMin(plain, 1)));
  const Exact exact = Affine(P(0), E(0), P(1));
  if (!(exact < 1)) return Value(x[0]);
  if (!(exact > 0)) return Value(x[0] * 0.0);
  return Value(E(0) * exact, x[0] * plain);
}

uint64_t ElementOfFloats(ElementWiseFunction function, const FloatCall& c) {
  const double a = c.x[0];
  const double b = c.x[1];
  switch (function) {
    case kAbs:
      return c.Value(std::fabs(a));
    case kNegate:
      return c.Value(-a);
    case kSign:
      return c.Value(a > 0 ? 1 : a < 0 ? -1 : 0);
    case kCeil:
      return c.Value(std::ceil(a));
    case kFloor:
      return c.Value(std::floor(a));
    case kRoundHalvesToEven:
      return c.Value(std::nearbyint(a));
    case kRoundTowardZero:
      return c.Value(std::trunc(a));
    case kRoundHalvesAway:
      return c.Value(std::round(a));
    case kSqrt:
      return c.Value(a > 0 && std::isfinite(a) ? sqrt(c.E(0)) : Exact(0), std::sqrt(a));
    case kRecip:
      return c.Value(Exact(1) / c.E(0), 1 / a);
    case kAdd:
      return c.Value(c.E(0) + c.E(1), a + b);
    case kSubtract:
      return c.Value(c.E(0) - c.E(1), a - b);
    case kMultiply:
      return c.Value(c.E(0) * c.E(1), a * b);
    case kDivide:
      return c.Value(c.E(0) / c.E(1), a / b);
    case kMean:
      return c.Value((c.E(0) + c.E(1)) / Exact(2), (a + b) / 2);
    case kDifferenceSquare:
      return c.Value((c.E(0) - c.E(1)) * (c.E(0) - c.E(1)), (a - b) * (a - b));
    case kMax:
      return c.Value(PageMax(a, b));
    case kMin:
      return c.Value(PageMin(a, b));
    case kModulusTruncate:
      return c.Value(std::fmod(a, b));
    case kModulusFloor: {
      const double rest = std::fmod(a, b);
      if (rest == 0) return c.Value(std::copysign(0.0, b));
      if (std::signbit(rest) == std::signbit(b)) return c.Value(rest);
      return c.Value(Exact(rest) + c.E(1), rest + b);
    }
    case kClip:
      return c.Value(PageMax(c.p(0), PageMin(a, c.p(1))));
    case kThreshold:
      return c.Value(PageMax(a, c.p(0)));
    case kRelu:
      return c.Value(PageMax(0, a));
    case kLeakyRelu:
      return a >= 0 ? c.Value(a) : c.Value(c.P(0) * c.E(0), c.p(0) * a);
    case kParameterizedRelu:
      return a >= 0 ? c.Value(a) : c.Value(c.E(1) * c.E(0), b * a);
    case kThresholdedRelu:
      return c.Value(a > c.p(0) ? a : 0);
    case kMultiplyAdd:
      return c.Value(Affine(c.P(0), c.E(0), c.E(1)), Affine(c.p(0), a, b));
    case kShrink:
      if (a > c.p(1)) return c.Value(c.E(0) - c.P(0), a - c.p(0));
      if (a < -c.p(1)) return c.Value(c.E(0) + c.P(0), a + c.p(0));
      return c.Value(0);
    case kHardSigmoid:
      return c.HardSigmoid();
    case kHardSwish:
      return c.HardSwish();
    case kSoftsign:
      return c.Value(c.E(0) / (Exact(1) + fabs(c.E(0))), a / (1 + std::fabs(a)));
    default:
      assert(false);
      return 0;
  }
}

Integer Divided(Integer a, Integer b) {
  return b == 0 ? -1 : a / b;
}
Integer TruncatedRest(Integer a, Integer b) {
  return b == 0 ? -1 : a % b;
}
Integer FlooredRest(Integer a, Integer b) {
  const Integer rest = TruncatedRest(a, b);
  return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Integer ElementOfIntegers(ElementWiseFunction function, const ElementParameters& parameters,
                          DataType type, Integer a, Integer b) {
  const auto bound = [&](size_t k) {
    return IntegerOf({type, Wrapped(parameters.integers[k], type)});
  };
  const int width = static_cast<int>(BitWidth(type));
  switch (function) {
    case kAbs:
      return a < 0 ? -a : a;
    case kNegate:
      return -a;
    case kSign:
      return a > 0 ? 1 : a < 0 ? -1 : 0;
    case kAdd:
      return a + b;
    case kSubtract:
      return a - b;
    case kMultiply:
      return static_cast<Integer>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case kDivide:
      return Divided(a, b);
    case kMean:
      return (a + b) / 2;
    case kDifferenceSquare:
      return (a - b) * (a - b);
    case kMax:
      return std::max(a, b);
    case kMin:
      return std::min(a, b);
    case kModulusTruncate:
      return TruncatedRest(a, b);
    case kModulusFloor:
      return FlooredRest(a, b);
    case kLogicalNot:
      return a == 0;
    case kLogicalAnd:
      return a != 0 && b != 0;
    case kLogicalOr:
      return a != 0 || b != 0;
    case kLogicalXor:
      return (a != 0) != (b != 0);
    case kBitShiftLeft:
      return b >= width ? 0 : a << static_cast<int>(b);
    case kBitShiftRight:
      return b >= width ? 0 : a >> static_cast<int>(b);
    case kClip:
      return std::max(bound(0), std::min(a, bound(1)));
    case kThreshold:
      return std::max(a, bound(0));
    case kClipGrad:
      return a <= bound(0) || a >= bound(1) ? 0 : b;
    case kRelu:
      return std::max<Integer>(a, 0);
    case kReluGrad:
      return a > 0 ? b : 0;
    case kParameterizedRelu:
      return a >= 0 ? a : static_cast<Integer>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    default:
      assert(false);
      return 0;
  }
}

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

// What depends on nothing but bits.
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

double Quantity(const StoredElement& element) {
  return IsFloat(element.type) ? FloatOf(element) : static_cast<double>(IntegerOf(element));
}

// QNT-1, QNT-2.
uint64_t Quantized(const ElementParameters& parameters, const Exact& exact, double plain,
                   double zero_point, DataType type) {
  const float quotient = FromBits<float>(Rounded(exact, plain, kFloat32));
  const double integer = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
  const double result = integer + zero_point;
  return Clamped(Real(std::min(std::max(result, parameters.numbers[0]), parameters.numbers[1])),
                 type);
}

uint64_t Quantized(const ElementParameters& parameters, std::span<const StoredElement> inputs,
                   DataType type) {
  const double x = Quantity(inputs[0]);
  const double scale = FloatOf(inputs[1]);
  return Quantized(parameters, Exact(x) / Exact(scale), x / scale,
                   static_cast<double>(IntegerOf(inputs[2])), type);
}

template <typename N>
N SumOfQuantized(const N& a, const N& b, const std::array<double, 8>& numbers) {
  return ((a - N(numbers[3])) * N(numbers[2]) + (b - N(numbers[5])) * N(numbers[4])) /
         N(numbers[6]);
}

uint64_t QuantizedSum(const ElementParameters& parameters, std::span<const StoredElement> inputs,
                      DataType type) {
  const double a = Quantity(inputs[0]);
  const double b = Quantity(inputs[1]);
  return Quantized(parameters, SumOfQuantized(Exact(a), Exact(b), parameters.numbers),
                   SumOfQuantized(a, b, parameters.numbers), parameters.numbers[7], type);
}

uint64_t InSequence(const ElementParameters& parameters, const StoredElement& place,
                    DataType type) {
  const auto& [start, delta] = parameters.integers;
  if (!IsFloat(type)) return Wrapped(Integer{start} + IntegerOf(place) * delta, type);
  const double p = parameters.numbers[0];
  const double q = parameters.numbers[1];
  const double k = FloatOf(place);
  return Rounded(Exact(p) + Exact(k) * Exact(q), p + k * q, type);
}

// QNT-3.
uint64_t Dequantized(std::span<const StoredElement> inputs, DataType type) {
  const double difference = static_cast<double>(IntegerOf(inputs[0]) - IntegerOf(inputs[2]));
  const double scale = FloatOf(inputs[1]);
  return Rounded(Exact(difference) * Exact(scale), difference * scale, type);
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
