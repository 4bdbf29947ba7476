// SPDX-License-Identifier: Apache-2.0
#include "core/units/magnitude.h"

#include <algorithm>
#include <numbers>

#include "core/arithmetic/float_format.h"
#include "core/exact/transcendental.h"
#include "core/explain/formula_value.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Operation = FormulaOperation;
using Magnitudes = std::span<const Magnitude>;

// Errors of a few units of FLOAT32, as a part of the size.
constexpr double kErrorStep = 0x1p-20;

// The four units that functions of one value are allowed.
constexpr double kErrorOfArgument = 0x1p-22;

constexpr double kNoSlope = std::numeric_limits<double>::infinity();  // that is finite

Magnitude WithoutError(double value) {
  return {value, std::abs(value), 1, Magnitude::kExact};
}

// The size of an operand, whose own error is relative to its value where it is one step.
double SizeAsOperand(const Magnitude& x) {
  return x.kind == Magnitude::kStep ? std::abs(x.value) : x.size;
}

int64_t MostTerms(Magnitudes x) {
  int64_t most = 1;
  for (const Magnitude& one : x) most = std::max(most, one.terms);
  return most;
}

bool IsRelative(const Magnitude& x) {
  return x.kind == Magnitude::kExact || x.kind == Magnitude::kRelative;
}

// --- sums ----------------------------------------------------------------------------------------

Magnitude::Kind KindOfSum(Magnitudes terms) {
  const auto is_exact = [](const Magnitude& x) { return x.kind == Magnitude::kExact; };
  const auto is_positive = [](const Magnitude& x) { return x.kind == Magnitude::kPositive; };
  const auto is_above_zero = [&](const Magnitude& x) {
    return is_positive(x) || (is_exact(x) && x.value > 0);
  };
  if (terms.size() <= 2 && std::ranges::all_of(terms, is_exact)) return Magnitude::kStep;
  if (std::ranges::all_of(terms, is_positive)) return Magnitude::kPositive;
  const bool has_positive = std::ranges::any_of(terms, is_positive);
  if (has_positive && std::ranges::all_of(terms, is_above_zero)) return Magnitude::kAboveOne;
  return std::ranges::all_of(terms, IsRelative) ? Magnitude::kLinear : Magnitude::kOther;
}

Magnitude Sum(Magnitudes terms) {
  Magnitude sum{0, 0, 0, KindOfSum(terms)};
  for (const Magnitude& term : terms) {
    sum.value += term.value;
    sum.size += SizeAsOperand(term);
    sum.terms += term.adds_up ? term.terms : 1;
  }
  sum.terms = std::max(sum.terms, MostTerms(terms));
  return sum;
}

Magnitude Negated(Magnitude x) {
  x.value = -x.value;
  if (x.kind == Magnitude::kPositive || x.kind == Magnitude::kAboveOne) x.kind = Magnitude::kOther;
  return x;
}

Magnitude DifferenceOf(const Magnitude& a, const Magnitude& b) {
  const Magnitude terms[] = {a, Negated(b)};
  return Sum(terms);
}

// --- products ------------------------------------------------------------------------------------

Magnitude::Kind KindOfProduct(Magnitudes factors) {
  return std::ranges::all_of(factors, IsRelative) ? Magnitude::kRelative : Magnitude::kOther;
}

// The error of a factor, which is small, counts as often as the others say.
Magnitude Product(Magnitudes factors) {
  Magnitude product{1, 1, MostTerms(factors), KindOfProduct(factors)};
  for (const Magnitude& factor : factors) {
    const double value = std::abs(product.value), other = std::abs(factor.value);
    product.size = value * (factor.size - other) + product.size * other;
    product.value *= factor.value;
    product.adds_up &= factor.adds_up;
  }
  return product;
}

// Returns the slope from a number to the farthest value that a function has within the number's
// error: the slope of the function itself where that is smooth, and more where it jumps or turns,
// which it does at 0, at `turns` or nowhere. Infinite if there is a pole or an end of the domain.
// The error ends at numbers of FLOAT32, as functions are evaluated for no others.
template <typename Function>
double SlopeWithinError(double size, double from, double value, std::span<const double> turns,
                        Function&& function) {
  const double error = size * kErrorOfArgument;
  if (!std::isfinite(error)) return 0;
  double slope = 0;
  const auto look_at = [&](double to, double distance) {
    const double other = function(to);
    if (other == value || (std::isnan(other) && std::isnan(value))) return;
    const double own = std::abs(other - value) / distance;
    slope = std::isnan(own) ? kNoSlope : std::max(slope, own);
  };
  for (const double end : {from + error, from - error}) {
    const auto start = static_cast<float>(from);
    auto to = static_cast<float>(end);
    if (std::abs(to - from) > error) to = std::nextafter(to, start);
    if (to != start) look_at(to, std::abs(to - from));
  }
  if (std::abs(from) < error) look_at(0, error);
  for (const double turn : turns) {
    if (std::abs(turn - from) < error) look_at(turn, error);
  }
  return slope;
}

// The part of a size that comes from a number's error.
double PartOf(const Magnitude& x, double slope) {
  return std::isinf(slope) && std::isfinite(x.size) ? kUnboundedSize : slope * x.size;
}

// Returns the size of a function's value where the error of its argument is such a part of it.
double WithPart(double size, double part) {
  return part == kUnboundedSize ? part : size + part;
}

// Returns what the error of a sum adds to the size of a function of it; nothing if `x` is no such
// sum.
template <typename Function>
double PassedOn(const Magnitude& x, Function&& function) {
  if (x.kind != Magnitude::kLinear || x.size == 0) return 0;
  return PartOf(x, SlopeWithinError(x.size, x.value, function(x.value), {}, function));
}

Magnitude Quotient(const Magnitude& a, const Magnitude& b) {
  const Magnitude operands[] = {a, b};
  double passed_on = PassedOn(b, [&](double divisor) { return a.value / divisor; });
  // The error of a rounded exponent.
  if (b.kind == Magnitude::kAboveOne && std::isfinite(b.size)) {
    passed_on = std::abs(a.value / b.value) * (b.size / b.value - 1);
  }
  return {a.value / b.value, WithPart(a.size / std::abs(b.value), passed_on), MostTerms(operands),
          KindOfProduct(operands), a.adds_up};
}

Magnitude SquareRoot(const Magnitude& x) {
  const auto root = [](double number) { return std::sqrt(number); };
  const double passed_on = PassedOn(x, root);
  const double size = passed_on > 0 ? WithPart(root(x.value), passed_on) : root(x.size);
  return {root(x.value), size, x.terms, Magnitude::kOther, /*adds_up=*/false};
}

Magnitude Square(const Magnitude& x) {
  const double size = SizeAsOperand(x);
  const Magnitude operands[] = {x};
  return {x.value * x.value, size * size, x.terms, KindOfProduct(operands), /*adds_up=*/false};
}

// --- choices -------------------------------------------------------------------------------------

// Only what was computed has an error beside that of the number chosen, and this only matters if a
// device may choose it instead.
template <typename Before>
Magnitude Extreme(Magnitudes among, Before before) {
  Magnitude chosen = among[0];
  for (const Magnitude& x : among) {
    if (std::isnan(chosen.value) || before(x.value, chosen.value)) chosen = x;
  }
  const double value = chosen.value;
  for (const Magnitude& x : among) {
    const double error = kErrorStep * static_cast<double>(x.terms) * x.size;
    if (x.kind == Magnitude::kExact || std::abs(x.value - value) > error) continue;
    chosen.size = std::max(chosen.size, x.size);
    chosen.kind = Magnitude::kOther;
  }
  chosen.terms = MostTerms(among);
  return chosen;
}

// The operands are the number and the ends of the range.
Magnitude Clamped(Magnitudes x) {
  const Magnitude at_least[] = {x[0], x[1]};
  const Magnitude both[] = {Extreme(at_least, std::greater<>()), x[2]};
  return Extreme(both, std::less<>());
}

// --- functions -----------------------------------------------------------------------------------

Magnitude Exponential(const Magnitude& x) {
  const double value = std::exp(x.value);
  const double more = x.kind == Magnitude::kExact ? 0 : SizeAsOperand(x);
  return {value, value * (1 + more), x.terms, Magnitude::kPositive, /*adds_up=*/false};
}

// The relative error of what is not of one sign becomes absolute.
Magnitude Logarithm(const Magnitude& x) {
  const double value = std::log(x.value);
  const bool is_well_known = x.kind == Magnitude::kExact || x.kind == Magnitude::kPositive ||
                             x.kind == Magnitude::kAboveOne;
  const double more = is_well_known ? 0 : x.size / std::abs(x.value);
  return {value, std::abs(value) + more, x.terms, Magnitude::kOther, /*adds_up=*/false};
}

// The value of any function that formulas have. Sizes need no more digits than those of binary64,
// which take a tenth of the time.
double ValueOf(ElementWiseFunction function, std::span<const double> parameters,
               std::span<const double> x) {
  using F = ElementWiseFunction;
  if (function == F::kFloor) return std::floor(x[0]);
  if (function == F::kCeil) return std::ceil(x[0]);
  if (function == F::kConstantPow) return std::pow(x[0], parameters[0]);
  if (function == F::kPow) return std::pow(x[0], x[1]);
  if (function >= F::kExp && function <= F::kErf) return SpecialValue(function, {x[0]});
  if (IsApproximated(function)) return ExactElement(function, x, parameters).head;
  std::vector<FormulaValue> operands;
  for (const double operand : x) operands.push_back(Approximately({operand, 0}));
  return ExactArithmetic::Function(function, parameters, operands).number.head;
}

// The places on either side of a number at which sines and cosines turn and tangents have poles.
std::vector<double> TurnsBeside(ElementWiseFunction function, double x) {
  using F = ElementWiseFunction;
  std::vector<double> turns;
  if (function != F::kSin && function != F::kCos && function != F::kTan) return turns;
  constexpr double kQuarter = std::numbers::pi / 2;
  const double before = std::floor(x / kQuarter);
  for (const double place : {-1.0, 0.0, 1.0, 2.0}) turns.push_back((before + place) * kQuarter);
  return turns;
}

// Returns the factor by which a function passes on the error of an operand. Gates of networks,
// which are at most 1 steep, count as if they were that steep everywhere, since the error before
// them is that of a step before, too.
double SlopeAt(ElementWiseFunction function, std::span<const double> parameters,
               std::vector<double> x, size_t operand, double size) {
  using F = ElementWiseFunction;
  if (function == F::kTanh || function == F::kSigmoid || function == F::kSoftsign) return 1;
  const double from = static_cast<float>(x[operand]);
  const auto value_at = [&](double moved) {
    x[operand] = moved;
    return ValueOf(function, parameters, x);
  };
  return SlopeWithinError(size, from, value_at(from), TurnsBeside(function, from), value_at);
}

Magnitude OfValue(double value, Magnitudes operands) {
  return {value, std::abs(value), MostTerms(operands), Magnitude::kOther, /*adds_up=*/false};
}

Magnitude Power(const Magnitude& x, const Magnitude& exponent) {
  const auto power = [&](double base) { return std::pow(base, exponent.value); };
  const Magnitude operands[] = {x, exponent};
  Magnitude value = OfValue(power(x.value), operands);
  value.size = WithPart(value.size, PassedOn(x, power));
  return value;
}

template <typename T>
Magnitude RoundedTo(Magnitude x) {
  x.value = AsDouble(FromDouble<T>(x.value));
  return x;
}

Magnitude OfFunction(ElementWiseFunction function, std::span<const double> parameters,
                     Magnitudes operands) {
  // Beside 1 its error is that of numbers near 1.
  if (function == ElementWiseFunction::kErf) {
    const auto error_function = [](double x) { return std::erf(x); };
    Magnitude value = OfValue(error_function(operands[0].value), operands);
    value.size = 1 + PassedOn(operands[0], error_function);
    return value;
  }
  std::vector<double> x;
  for (const Magnitude& operand : operands) x.push_back(operand.value);
  Magnitude value = OfValue(ValueOf(function, parameters, x), operands);
  for (size_t i = 0; i < x.size(); ++i) {
    if (IsRelative(operands[i]) || operands[i].size == 0) continue;
    const double slope = SlopeAt(function, parameters, x, i, operands[i].size);
    value.size = WithPart(value.size, PartOf(operands[i], slope));
  }
  return value;
}

// --- operations ----------------------------------------------------------------------------------

Magnitude Applied(Operation operation, Magnitudes x) {
  switch (operation) {
    case Operation::kSum:
      return Sum(x);
    case Operation::kMean:
      return Quotient(Sum(x), WithoutError(static_cast<double>(x.size())));
    case Operation::kProduct:
      return Product(x);
    case Operation::kWeighted:
      return x[0].value == 0 ? WithoutError(0) : Product(x);
    case Operation::kMaximum:
    case Operation::kAtLeast:
      return Extreme(x, std::greater<>());
    case Operation::kMinimum:
      return Extreme(x, std::less<>());
    case Operation::kIfAtLeast:
      return x[x[0].value >= x[1].value ? 2 : 3];
    case Operation::kIfGreater:
      return x[x[0].value > x[1].value ? 2 : 3];
    case Operation::kDifference:
      return DifferenceOf(x[0], x[1]);
    case Operation::kQuotient:
      return Quotient(x[0], x[1]);
    case Operation::kQuotientOrDividend:
      return x[1].value == 0 ? x[0] : Quotient(x[0], x[1]);
    case Operation::kPower:
      return Power(x[0], x[1]);
    case Operation::kNegative:
      return Negated(x[0]);
    case Operation::kFlooredQuotient:
      return OfValue(std::floor(x[0].value / x[1].value), x);
    case Operation::kTruncatedQuotient:
      return OfValue(std::trunc(x[0].value / x[1].value), x);
    case Operation::kMagnitude:
      return {std::abs(x[0].value), SizeAsOperand(x[0]), x[0].terms, x[0].kind, x[0].adds_up};
    case Operation::kSquare:
      return Square(x[0]);
    case Operation::kSquareRoot:
      return SquareRoot(x[0]);
    case Operation::kExponential:
      return Exponential(x[0]);
    case Operation::kLogarithm:
      return Logarithm(x[0]);
    case Operation::kRoundToFloat32:
      return RoundedTo<float>(x[0]);
    case Operation::kRoundToFloat16:
      return RoundedTo<Half>(x[0]);
    case Operation::kRound:
      return OfValue(std::nearbyint(x[0].value), x);
    case Operation::kTruncate:
      return OfValue(std::trunc(x[0].value), x);
    case Operation::kClamp:
      return Clamped(x);
    case Operation::kWrap:
    case Operation::kRoundToFloat64:
      return x[0];
    default:
      return OfValue(0, x);  // places, which are no floats
  }
}

// --- what roundings move -------------------------------------------------------------------------

// Roundings to FLOAT16 move operands, and these move the values that are made of them.

bool IsAnyMoved(Magnitudes x) {
  return std::ranges::any_of(x, [](const Magnitude& one) { return one.moved > 0; });
}

double MovedProduct(Magnitudes factors) {
  double product = 1, moved = 0;
  for (const Magnitude& factor : factors) {
    const double value = std::abs(factor.value);
    moved = moved * (value + factor.moved) + product * factor.moved;
    product *= value;
  }
  return moved;
}

// Adds up how far each operand alone moves the value. `value_of` takes operands.
template <typename ValueOfOperands>
double MovedBetweenEnds(Magnitudes x, double value, ValueOfOperands&& value_of) {
  std::vector<Magnitude> operands(x.begin(), x.end());
  for (Magnitude& operand : operands) operand.moved = 0;
  double moved = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double farthest = 0;
    for (const double end : {-x[i].moved, x[i].moved}) {
      operands[i].value = x[i].value + end;
      farthest = std::max(farthest, std::abs(value_of(operands) - value));
    }
    operands[i].value = x[i].value;
    moved += farthest;
  }
  return moved;
}

double SumOfMoved(Magnitudes x) {
  double sum = 0;
  for (const Magnitude& one : x) sum += one.moved;
  return sum;
}

double MovedBy(Operation operation, Magnitudes x, double value) {
  switch (operation) {
    case Operation::kSum:
    case Operation::kDifference:
      return SumOfMoved(x);
    case Operation::kMean:
      return SumOfMoved(x) / static_cast<double>(x.size());
    case Operation::kProduct:
    case Operation::kWeighted:
      return MovedProduct(x);
    case Operation::kMaximum:
    case Operation::kMinimum:
      return std::ranges::max(x, {}, &Magnitude::moved).moved;
    case Operation::kRoundToFloat16:
      return x[0].moved + HalfUlpOfFloat16(value);
    default:
      return MovedBetweenEnds(x, value, [&](Magnitudes operands) {
        return MagnitudeArithmetic::Apply(operation, operands).value;
      });
  }
}

}  // namespace

double HalfUlpOfFloat16(double x) {
  return std::isfinite(x) ? FormOf(DataType::kFloat16).Ulp(x) / 2 : 0;
}

bool IsOfElements(const Formula& formula, Formula::Node node) {
  switch (formula.operation(node)) {
    case Operation::kElement:
    case Operation::kNumber:
      return true;
    case Operation::kProduct:
    case Operation::kNegative:
      return std::ranges::all_of(formula.operands(node),
                                 [&](Formula::Node part) { return IsOfElements(formula, part); });
    default:
      return false;
  }
}

Formula::Node MagnitudeArithmetic::Instead(const Formula& formula, Formula::Node node) {
  const bool is_made_of_steps = formula.operation(node) == Operation::kElementWise &&
                                IsApproximated(formula.function(node)) &&
                                IsOfElements(formula, formula.operands(node)[0]);
  return is_made_of_steps ? formula.definition(node) : node;
}

Magnitude MagnitudeArithmetic::Element(const ConstTensorView& view, int64_t offset) {
  Magnitude element;
  VisitDataType(AllTypes(), view.type, [&]<typename T>() {
    element = WithoutError(AsDouble(view.elements<T>()[offset]));
  });
  return element;
}

Magnitude MagnitudeArithmetic::Number(double value, const std::optional<Dyadic>&) {
  return WithoutError(value);
}

Magnitude MagnitudeArithmetic::Function(ElementWiseFunction function,
                                        std::span<const double> parameters, Magnitudes operands) {
  Magnitude value = OfFunction(function, parameters, operands);
  if (!IsAnyMoved(operands)) return value;
  std::vector<double> x(operands.size());
  value.moved = MovedBetweenEnds(operands, value.value, [&](Magnitudes moved) {
    std::ranges::transform(moved, x.begin(), &Magnitude::value);
    return ValueOf(function, parameters, x);
  });
  return value;
}

Magnitude MagnitudeArithmetic::Apply(FormulaOperation operation, Magnitudes x) {
  Magnitude value = Applied(operation, x);
  const bool may_move = operation == Operation::kRoundToFloat16 || IsAnyMoved(x);
  value.moved = may_move ? MovedBy(operation, x, value.value) : 0;
  return value;
}

}  // namespace dmlop
