// SPDX-License-Identifier: Apache-2.0
#include "core/explain/formula_value.h"

#include <cmath>
#include <limits>

namespace dmlop {
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

// As % of Python where it floors, else as fmod of C.
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

}  // namespace dmlop
