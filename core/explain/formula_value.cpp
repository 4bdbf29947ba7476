// SPDX-License-Identifier: Apache-2.0
#include "core/explain/formula_value.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/exact/transcendental.h"

namespace dmlop {
namespace {

// The nearest of binary64, and the rest; beyond the range of both parts an infinity or a zero.
DoubleDouble NumberOf(const Dyadic& value) {
  constexpr int64_t kMostExponent = 1023;
  constexpr int64_t kLeastExponent = -900;
  const int64_t size = value.exponent() + value.bit_length();
  if (size > kMostExponent) return {value.Sign() * std::numeric_limits<double>::infinity(), 0};
  if (size < -kMostExponent) return {0.0 * value.Sign(), 0};
  const double head = value.Truncated();
  if (size < kLeastExponent) return {head, 0};
  return FastTwoSum(head, (value - Dyadic(head)).Truncated());
}

}  // namespace

FormulaValue Special(double value) {
  // NaN of either sign becomes one.
  const double head = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
  FormulaValue special{{head, 0}, std::nullopt};
  if (value == 0) special.exact = Dyadic();
  return special;
}

FormulaValue Exactly(const Dyadic& value) {
  FormulaValue exact{NumberOf(value), std::nullopt};
  if (value.bit_length() <= kMostProductBits) exact.exact = value;
  return exact;
}

FormulaValue Exactly(double value) {
  return std::isfinite(value) && value != 0 ? Exactly(Dyadic(value)) : Special(value);
}

FormulaValue Approximately(DoubleDouble value) {
  return {value, std::nullopt};
}

bool IsFinite(const FormulaValue& value) {
  return value.exact || std::isfinite(value.number.head);
}

bool IsNan(const FormulaValue& value) {
  return std::isnan(value.number.head);
}

bool IsZero(const FormulaValue& value) {
  return value.number.head == 0 && !(value.exact && value.exact->Sign() != 0);
}

bool IsFar(const FormulaValue& value) {
  constexpr double kFarthest = 1e180;
  const double magnitude = std::fabs(value.number.head);
  return !value.exact && (magnitude >= kFarthest || magnitude <= 1 / kFarthest);
}

bool IsLess(DoubleDouble a, DoubleDouble b) {
  if (a.head != b.head) return a.head < b.head;
  return a.head == 0 ? std::signbit(a.head) && !std::signbit(b.head) : a.tail < b.tail;
}

bool IsLess(const FormulaValue& a, const FormulaValue& b) {
  return IsLess(a.number, b.number);
}

bool IsGreater(const FormulaValue& a, const FormulaValue& b) {
  return (a.number.head != 0 || b.number.head != 0) && IsLess(b, a);
}

bool IsAtLeast(const FormulaValue& a, const FormulaValue& b) {
  return !IsNan(a) && !IsNan(b) && !IsGreater(b, a);
}

Dyadic ToDyadic(const FormulaValue& value) {
  if (value.exact) return *value.exact;
  return Dyadic(value.number.head) + Dyadic(value.number.tail);
}

FormulaValue Negated(const FormulaValue& x) {
  FormulaValue negated{-x.number, std::nullopt};
  if (x.exact) negated.exact = -*x.exact;
  return negated;
}

// --- operations that lead to whole numbers -------------------------------------------------------

namespace {

using Value = FormulaValue;

// a / b without its fraction.
Dyadic TruncatedQuotient(const Dyadic& a, const Dyadic& b) {
  const Dyadic quotient = FloorQuotient(a.Sign() < 0 ? -a : a, b.Sign() < 0 ? -b : b);
  return a.Sign() * b.Sign() < 0 ? -quotient : quotient;
}

// The greatest whole number that is at most a / b.
Dyadic FlooredQuotient(const Dyadic& a, const Dyadic& b) {
  return b.Sign() < 0 ? FloorQuotient(-a, -b) : FloorQuotient(a, b);
}

// Computes % of Python if it floors, else fmod of C.
Value Remainder(bool floors, const Value& a, const Value& b) {
  if (IsFinite(a) && IsFinite(b) && !IsZero(a) && !IsZero(b)) {
    const Dyadic x = ToDyadic(a), y = ToDyadic(b);
    const Dyadic rest = x - y * (floors ? FlooredQuotient(x, y) : TruncatedQuotient(x, y));
    if (rest.Sign() != 0) return Exactly(rest);
    return Special(std::copysign(0.0, floors ? b.number.head : a.number.head));
  }
  const double rest = std::fmod(a.number.head, b.number.head);
  if (!floors) return Special(rest);
  if (rest == 0) return Special(std::copysign(0.0, b.number.head));
  return Special(std::signbit(rest) != std::signbit(b.number.head) ? rest + b.number.head : rest);
}

}  // namespace

Value Round(const Value& x) {
  if (IsNan(x)) return Special(0);
  if (!IsFinite(x)) return x;
  const Dyadic value = ToDyadic(x);
  const Dyadic floor = FloorQuotient(value, Dyadic(1));
  const int beyond_middle = (value - floor - Dyadic(0.5)).Sign();
  const bool goes_up =
      beyond_middle == 0 ? floor.exponent() == 0 && floor.Sign() != 0 : beyond_middle > 0;
  return Exactly(goes_up ? floor + Dyadic(1) : floor);
}

Value Truncate(const Value& x) {
  return IsFinite(x) ? Exactly(TruncatedQuotient(ToDyadic(x), Dyadic(1))) : x;
}

Value WholeQuotient(bool floors, const Value& a, const Value& b) {
  if (!IsFinite(a) || !IsFinite(b) || IsZero(b)) {
    const double quotient = a.number.head / b.number.head;
    return Special(floors ? std::floor(quotient) : std::trunc(quotient));
  }
  return Exactly(floors ? FlooredQuotient(ToDyadic(a), ToDyadic(b))
                        : TruncatedQuotient(ToDyadic(a), ToDyadic(b)));
}

Value Clamp(const Value& x, const Value& least, const Value& greatest) {
  if (IsNan(x)) return x;
  if (IsLess(x, least)) return least;
  return IsLess(greatest, x) ? greatest : x;
}

// Nothing is known of a number whose digits were dropped.
Value Wrap(const Value& x, const Value& least, const Value& greatest) {
  if (!x.exact) return Special(std::numeric_limits<double>::quiet_NaN());
  const Dyadic size = *greatest.exact - *least.exact + Dyadic(1);
  const Dyadic times = FloorQuotient(*x.exact - *least.exact, size);
  return Exactly(*x.exact - times * size);
}

std::optional<Value> WholeFunction(ElementWiseFunction function, std::span<const Value> x) {
  using enum ElementWiseFunction;
  const double head = x[0].number.head;
  switch (function) {
    case kCeil:
      return Exactly(std::ceil(head));
    case kFloor:
      return Exactly(std::floor(head));
    case kRoundHalvesToEven:
      return Exactly(std::nearbyint(head));
    case kRoundTowardZero:
      return Exactly(std::trunc(head));
    case kRoundHalvesAway:
      return Exactly(std::round(head));
    case kModulusTruncate:
    case kModulusFloor:
      return Remainder(function == kModulusFloor, x[0], x[1]);
    default:
      return std::nullopt;
  }
}

// --- numbers with an end -------------------------------------------------------------------------

namespace {

using F = ElementWiseFunction;

// --- powers --------------------------------------------------------------------------------------

// base^exponent of a whole exponent, unless its decimal is not finite or too long.
std::optional<Dyadic> WholePower(const Dyadic& base, double exponent) {
  if (base.bit_length() == 1 && base.exponent() == 0) {
    return Dyadic(base.Sign() < 0 && std::fmod(exponent, 2) != 0 ? -1 : 1);
  }
  const double most_bits = static_cast<double>(base.bit_length() + std::abs(base.exponent()));
  if (most_bits * std::fabs(exponent) > static_cast<double>(kMostProductBits)) return std::nullopt;
  const auto times = static_cast<int64_t>(exponent);
  if (base.bit_length() == 1) {
    const Dyadic sign(base.Sign() < 0 && times % 2 != 0 ? -1 : 1);
    return sign.TimesPowerOfTwo(base.exponent() * times);
  }
  if (times < 0) return std::nullopt;
  Dyadic power(1);
  for (int64_t n = 0; n < times; ++n) power = power * base;
  return power;
}

}  // namespace

// With an exponent of n binary places it is rational only if n square roots can be taken of x, one
// of the other, that are.
std::optional<Dyadic> ExactPower(double x, double exponent) {
  for (; exponent != std::trunc(exponent); exponent *= 2) {
    const double root = std::sqrt(x);
    if ((Dyadic(root) * Dyadic(root) - Dyadic(x)).Sign() != 0) return std::nullopt;
    x = root;
  }
  return WholePower(Dyadic(x), exponent);
}

namespace {

// --- functions that vectors approximate ----------------------------------------------------------

// Returns whether the value is a number as it is. Functions of numbers are irrational but for those
// that are known: where the formula leaves nothing transcendental of them, and zeros.
bool IsRational(F function, const TranscendentalArguments& arguments, double value) {
  if (value == 0) return true;
  switch (function) {
    case F::kAcos:
    case F::kAtanYx:  // of special values, parts of pi
      return false;
    case F::kCelu:
    case F::kScaledElu:
      return arguments.x > 0 || IsSpecial(function, arguments);
    case F::kSwish:
      return arguments.a == 0 || IsSpecial(function, arguments);
    default:
      return IsSpecial(function, arguments);
  }
}

}  // namespace

std::optional<Dyadic> ExactValueOf(F function, std::span<const double> elements,
                                   std::span<const double> numbers, const HeadTail& value) {
  const TranscendentalArguments arguments{
      elements[0], elements.size() > 1 ? elements[1] : numbers[0], numbers[1]};
  if (IsRational(function, arguments, value.head)) return Dyadic(value.head) + Dyadic(value.tail);
  const bool is_power = function == F::kPow || function == F::kConstantPow;
  return is_power ? ExactPower(arguments.x, arguments.a) : std::nullopt;
}

}  // namespace dmlop
