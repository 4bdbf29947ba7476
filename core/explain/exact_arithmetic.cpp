// SPDX-License-Identifier: Apache-2.0
#include "core/explain/formula_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/exact/double_double.h"
#include "core/exact/elementary.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Value = FormulaValue;
using Operation = FormulaOperation;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// --- sums and products ---------------------------------------------------------------------------

Value Sum(std::span<const Value> terms) {
  double specials = 0;
  double zeros = -0.0;
  bool are_exact = true;
  Dyadic exact;
  DoubleDouble sum{};
  for (const Value& term : terms) {
    if (!IsFinite(term)) specials += term.number.head;
    if (IsZero(term)) zeros += term.number.head;
    are_exact &= term.exact.has_value();
    if (are_exact) exact = exact + *term.exact;
    if (IsFinite(term)) sum = sum + term.number;
  }
  if (specials != 0) return Special(specials);
  if (!are_exact) return Approximately(sum);
  if (exact.Sign() != 0) return Exactly(exact);
  const bool is_minus =
      !terms.empty() && std::signbit(zeros) && std::all_of(terms.begin(), terms.end(), IsZero);
  return Special(is_minus ? -0.0 : 0.0);
}

Value Product(std::span<const Value> factors) {
  Value product = Exactly(Dyadic(1));
  for (const Value& factor : factors) {
    if (!IsFinite(product) || !IsFinite(factor) || IsZero(product) || IsZero(factor)) {
      product = Special(product.number.head * factor.number.head);
    } else if (product.exact && factor.exact) {
      product = Exactly(*product.exact * *factor.exact);
    } else {
      product = Approximately(product.number * factor.number);
    }
  }
  return product;
}

Value Quotient(const Value& a, const Value& b) {
  if (!IsFinite(a) || !IsFinite(b) || IsZero(a) || IsZero(b)) {
    return Special(a.number.head / b.number.head);
  }
  if (a.exact && b.exact && b.exact->bit_length() == 1) {
    const Dyadic magnitude = a.exact->TimesPowerOfTwo(-b.exact->exponent());
    return Exactly(b.exact->Sign() < 0 ? -magnitude : magnitude);
  }
  const Value quotient = Approximately(a.number / b.number);
  if (!a.exact || !b.exact) return quotient;
  const Dyadic candidate(quotient.number.head);
  const bool is_exact = (candidate * *b.exact - *a.exact).Sign() == 0;
  return is_exact ? Exactly(candidate) : quotient;
}

Value Mean(std::span<const Value> terms) {
  return Quotient(Sum(terms), Exactly(Dyadic(terms.size())));
}

// The place of the first of those before which none comes; none where all are NaN.
template <typename Before>
std::optional<size_t> PlaceOfFirst(std::span<const Value> values, Before&& before) {
  std::optional<size_t> first;
  for (size_t k = 0; k < values.size(); ++k) {
    if (IsNan(values[k])) continue;
    if (!first || before(values[k], values[*first])) first = k;
  }
  return first;
}

Value Minimum(std::span<const Value> values) {
  const auto place =
      PlaceOfFirst(values, [](const Value& a, const Value& b) { return IsLess(a, b); });
  return place ? values[*place] : Special(kNan);
}
Value Maximum(std::span<const Value> values) {
  const auto place =
      PlaceOfFirst(values, [](const Value& a, const Value& b) { return IsLess(b, a); });
  return place ? values[*place] : Special(kNan);
}

Value PlaceOfExtreme(FormulaOperation operation, std::span<const Value> values) {
  const bool is_last = operation == Operation::kLastMaximum || operation == Operation::kLastMinimum;
  const bool is_least =
      operation == Operation::kFirstMinimum || operation == Operation::kLastMinimum;
  const auto place = PlaceOfFirst(values, [&](const Value& a, const Value& b) {
    const Value& more = is_least ? b : a;
    const Value& less = is_least ? a : b;
    return is_last ? IsAtLeast(more, less) : IsGreater(more, less);
  });
  return Exactly(Dyadic(place.value_or(is_last ? values.size() - 1 : 0)));
}

// --- functions -----------------------------------------------------------------------------------

Value SquareRoot(const Value& x) {
  if (!(x.number.head > 0) || !IsFinite(x)) return Special(std::sqrt(x.number.head));
  const DoubleDouble root = SquareRoot(x.number);
  const Dyadic candidate(root.head);
  const bool is_exact = x.exact && (candidate * candidate - *x.exact).Sign() == 0;
  return is_exact ? Exactly(candidate) : Approximately(root);
}

// e^x in the range of binary64, beyond which it is 0 or infinite.
DoubleDouble ExponentialOf(DoubleDouble x) {
  constexpr double kMostOfDouble = 600;
  constexpr double kMostOfExp = 709;
  if (std::fabs(x.head) <= kMostOfDouble) return Exp(x);
  return {x.head > kMostOfExp ? kInfinity : Exp(x.head), 0};
}

Value Exponential(const Value& x) {
  if (IsZero(x)) return Exactly(Dyadic(1));
  if (!IsFinite(x)) return Special(x.number.head < 0 ? 0 : x.number.head);
  return Approximately(ExponentialOf(x.number));
}

Value Logarithm(const Value& x) {
  const double head = x.number.head;
  if (head == 1 && x.number.tail == 0) return Special(0);
  // Next to 1 the tail is all that counts.
  if (head > 0.5 && head < 2) return Approximately(Log1p(x.number + -1.0));
  if (head == 0) return Special(-kInfinity);
  if (!(head > 0)) return Special(kNan);
  return IsFinite(x) ? Approximately(Log(x.number)) : x;
}

Value Power(const Value& base, const Value& exponent) {
  const double x = base.number.head, y = exponent.number.head;
  if (y == 1) return base;
  const bool are_numbers = base.exact && exponent.exact && !IsZero(base) && base.number.tail == 0 &&
                           (x > 0 || y == std::trunc(y));
  if (const auto exact = are_numbers ? ExactPower(x, y) : std::nullopt) return Exactly(*exact);
  const double power = std::pow(x, y);
  if (!std::isfinite(x) || !std::isfinite(y) || x == 0 || y == 0 || std::isnan(power)) {
    return Special(power);
  }
  const DoubleDouble magnitude = x < 0 ? -base.number : base.number;
  const DoubleDouble value = ExponentialOf(Log(magnitude) * exponent.number);
  return Approximately(power < 0 ? -value : value);
}

// Rounds to a float type. Digits beyond both parts may decide what seems to be a tie.
template <typename T>
Value RoundTo(const Value& x) {
  if (!std::isfinite(x.number.head) || x.number.head == 0) return Special(x.number.head);
  const auto [head, tail] = x.number;
  const int rest = (ToDyadic(x) - Dyadic(head) - Dyadic(tail)).Sign();
  const double all_of_tail = rest == 0 ? tail : std::nextafter(tail, rest * kInfinity);
  double rounded = head + all_of_tail;
  if constexpr (!std::is_same_v<T, double>) rounded = AsDouble(RoundOnce<T>(head, all_of_tail));
  return Exactly(rounded);
}

}  // namespace

FormulaValue ExactArithmetic::Element(const ConstTensorView& view, int64_t offset) {
  Value value;
  VisitDataType(AllTypes(), view.type, [&]<typename T>() {
    const T element = view.elements<T>()[offset];
    if constexpr (std::is_integral_v<T>) {
      value = element == 0 ? Special(0) : Exactly(Dyadic(element));
    } else {
      value = Exactly(AsDouble(element));
    }
  });
  return value;
}

FormulaValue ExactArithmetic::Number(double value, const std::optional<Dyadic>& exact) {
  return exact && exact->Sign() != 0 ? Exactly(*exact) : Special(value);
}

FormulaValue ExactArithmetic::Function(ElementWiseFunction function,
                                       std::span<const double> parameters,
                                       std::span<const Value> operands) {
  if (const auto whole = WholeFunction(function, operands)) return *whole;
  std::vector<double> x;
  bool are_numbers = true;  // of binary64
  for (const Value& operand : operands) {
    x.push_back(operand.number.head);
    are_numbers &= operand.number.tail == 0;
  }
  const HeadTail value = ExactElement(function, x, parameters);
  if (!std::isfinite(value.head) || value.head == 0) return Special(value.head);
  const auto exact = are_numbers ? ExactValueOf(function, x, parameters, value) : std::nullopt;
  return exact ? Exactly(*exact) : Approximately(value);
}

FormulaValue ExactArithmetic::Apply(FormulaOperation operation, std::span<const Value> x) {
  switch (operation) {
    case Operation::kSum:
      return Sum(x);
    case Operation::kMean:
      return Mean(x);
    case Operation::kProduct:
      return Product(x);
    case Operation::kMaximum:
      return Maximum(x);
    case Operation::kMinimum:
      return Minimum(x);
    case Operation::kFirstMaximum:
    case Operation::kLastMaximum:
    case Operation::kFirstMinimum:
    case Operation::kLastMinimum:
      return PlaceOfExtreme(operation, x);
    case Operation::kIfAtLeast:
      return x[IsAtLeast(x[0], x[1]) ? 2 : 3];
    case Operation::kIfGreater:
      return x[IsGreater(x[0], x[1]) ? 2 : 3];
    case Operation::kDifference: {
      const Value terms[] = {x[0], Negated(x[1])};
      return Sum(terms);
    }
    case Operation::kQuotient:
      return Quotient(x[0], x[1]);
    case Operation::kQuotientOrDividend:
      return IsZero(x[1]) ? x[0] : Quotient(x[0], x[1]);
    case Operation::kWeighted:
      return IsZero(x[0]) ? Special(0) : Product(x);
    case Operation::kPower:
      return Power(x[0], x[1]);
    case Operation::kAtLeast:
      return IsLess(x[0], x[1]) ? x[1] : x[0];
    case Operation::kNegative:
      return Negated(x[0]);
    case Operation::kFlooredQuotient:
    case Operation::kTruncatedQuotient:
      return WholeQuotient(operation == Operation::kFlooredQuotient, x[0], x[1]);
    case Operation::kMagnitude:
      return std::signbit(x[0].number.head) ? Negated(x[0]) : x[0];
    case Operation::kSquare: {
      const Value factors[] = {x[0], x[0]};
      return Product(factors);
    }
    case Operation::kSquareRoot:
      return SquareRoot(x[0]);
    case Operation::kExponential:
      return Exponential(x[0]);
    case Operation::kLogarithm:
      return Logarithm(x[0]);
    case Operation::kRoundToFloat64:
      return RoundTo<double>(x[0]);
    case Operation::kRoundToFloat32:
      return RoundTo<float>(x[0]);
    case Operation::kRoundToFloat16:
      return RoundTo<Half>(x[0]);
    case Operation::kRound:
      return Round(x[0]);
    case Operation::kTruncate:
      return Truncate(x[0]);
    case Operation::kClamp:
      return Clamp(x[0], x[1], x[2]);
    case Operation::kWrap:
      return Wrap(x[0], x[1], x[2]);
    default:
      return {};  // leaves have no operands
  }
}

}  // namespace dmlop
