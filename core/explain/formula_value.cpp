// SPDX-License-Identifier: Apache-2.0
#include "core/explain/formula_value.h"

#include <cmath>
#include <limits>

#include "core/explain/exact_value.h"

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

bool IsLess(const FormulaValue& a, const FormulaValue& b) {
  const DoubleDouble x = a.number, y = b.number;
  if (x.head != y.head) return x.head < y.head;
  return x.head == 0 ? std::signbit(x.head) && !std::signbit(y.head) : x.tail < y.tail;
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

}  // namespace dmlop
