// SPDX-License-Identifier: Apache-2.0
#include "core/explain/exact_value.h"

#include <cmath>
#include <cstdlib>

#include "core/exact/transcendental.h"

namespace dmlop {
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

// Whether the value is a number as it is. Functions of numbers are irrational but for those that
// are known: where the formula leaves nothing transcendental of them, and zeros.
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
