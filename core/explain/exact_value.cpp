#include "core/explain/exact_value.h"

#include <cmath>
#include <cstdlib>

#include "core/exact/transcendental_special.h"
#include "core/explain/calculate_reduce.h"

namespace dmlop {
namespace {

using F = ElementWiseFunction;

ExactValue Finite(const Dyadic& value) {
  return {[value](const Dyadic& y) { return (value - y).Sign(); }, value, std::nullopt};
}

// a / b, b not zero, about `quotient`: that itself if it has a finite decimal, as its digits are
// some of those of a.
ExactValue Quotient(double a, const Dyadic& b, double quotient) {
  const auto compare = [=](const Dyadic& y) { return (Dyadic(a) - y * b).Sign() * b.Sign(); };
  if (compare(Dyadic(quotient)) == 0) return Finite(Dyadic(quotient));
  return {compare, std::nullopt, quotient};
}

ExactValue SquareRoot(double a) {
  const auto compare = [=](const Dyadic& y) {
    return y.Sign() < 0 ? 1 : (Dyadic(a) - y * y).Sign();
  };
  const double root = std::sqrt(a);
  if (compare(Dyadic(root)) == 0) return Finite(Dyadic(root));
  return {compare, std::nullopt, root};
}

// --- powers --------------------------------------------------------------------------------------

// base^exponent of a whole exponent, unless its decimal is not finite or too long.
std::optional<Dyadic> WholePower(const Dyadic& base, double exponent) {
  const double most_bits = static_cast<double>(base.bit_length() + std::abs(base.exponent()));
  if (most_bits * std::fabs(exponent) > static_cast<double>(kMaxProductBits)) return std::nullopt;
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

std::optional<ExactValue> Approximated(F function, std::span<const double> x,
                                       std::span<const double> numbers) {
  const HeadTail value = ExactElement(function, x, numbers);
  if (!std::isfinite(value.head)) return std::nullopt;
  if (function == F::kSoftsign) {
    return Quotient(x[0], Dyadic(1) + Dyadic(std::fabs(x[0])), value.head);
  }
  const Dyadic sum = Dyadic(value.head) + Dyadic(value.tail);
  const TranscendentalArguments arguments{x[0], x.size() > 1 ? x[1] : numbers[0], numbers[1]};
  if (IsRational(function, arguments, value.head)) return Finite(sum);
  if (function == F::kPow || function == F::kConstantPow) {
    if (const auto power = ExactPower(arguments.x, arguments.a)) return Finite(*power);
  }
  ExactValue irrational = Finite(sum);
  irrational.exact.reset();
  constexpr double kFarthest = 1e180;  // e^600 stands for what is beyond it
  const double magnitude = std::fabs(value.head);
  if (magnitude < kFarthest && magnitude > 1 / kFarthest) irrational.approximate = value.head;
  return irrational;
}

}  // namespace

std::optional<ExactValue> ExactValueOf(F function, std::span<const double> elements,
                                       std::span<const double> numbers) {
  const auto dyadic = [&](size_t i) { return Dyadic(elements[i]); };
  switch (function) {
    case F::kAdd:
      return Finite(dyadic(0) + dyadic(1));
    case F::kSubtract:
      return Finite(dyadic(0) - dyadic(1));
    case F::kMultiply:
      return Finite(dyadic(0) * dyadic(1));
    case F::kMean:
      return Finite((dyadic(0) + dyadic(1)).TimesPowerOfTwo(-1));
    case F::kDifferenceSquare:
      return Finite((dyadic(0) - dyadic(1)) * (dyadic(0) - dyadic(1)));
    case F::kDivide:
      return Quotient(elements[0], dyadic(1), elements[0] / elements[1]);
    case F::kRecip:
      return Quotient(1, dyadic(0), 1 / elements[0]);
    case F::kSqrt:
      return SquareRoot(elements[0]);
    default:
      if (!IsApproximated(function)) return std::nullopt;
      return Approximated(function, elements, numbers);
  }
}

}  // namespace dmlop
