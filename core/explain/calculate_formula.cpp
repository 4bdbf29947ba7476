#include "core/explain/calculate_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/explain/calculate_modulo.h"
#include "core/explain/formula_steps.h"
#include "core/explain/rounding_choice.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Operation = FormulaOperation;

class FormulaExplanation {
 public:
  FormulaExplanation(const Formula& formula, Formula::Node last, FormulaSteps& steps)
      : formula_(formula), last_(last), steps_(steps), value_(steps.ValueOf(last)) {}

  template <typename T>
  Calculation For(T result) {
    if (IsExtremeElement()) {
      ExplainExtreme();
    } else if constexpr (std::is_integral_v<T>) {
      ExplainInteger(result);
    } else {
      ExplainFloat(result);
    }
    return std::move(calculation_);
  }

 private:
  Formula::Node Operand(size_t i) const { return formula_.operands(last_)[i]; }

  // The value of a node, before the result is made of it.
  void Tell(Formula::Node node) {
    const FormulaValue value = steps_.ValueOf(node);
    calculation_.quantity = steps_.TextOf(node);
    if (value.exact) {
      const bool is_minus_zero = value.number.head == 0 && std::signbit(value.number.head);
      calculation_.exact = is_minus_zero ? "-0" : value.exact->ToDecimal();
    } else if (std::isfinite(value.number.head)) {
      calculation_.approximate = value.number.head;
    }
  }

  // --- maxima and minima -------------------------------------------------------------------------

  bool IsExtreme() const {
    const Operation operation = formula_.operation(last_);
    return operation == Operation::kMaximum || operation == Operation::kMinimum;
  }

  // Whether the result is an element, which nothing is done to.
  bool IsExtremeElement() {
    if (!IsExtreme() || formula_.operands(last_).empty()) return false;
    const auto is_element = [&](Formula::Node node) {
      return formula_.operation(node) == Operation::kElement;
    };
    const std::vector<Formula::Node> winners = steps_.WinnersOf(last_);
    return winners.empty() ? std::ranges::all_of(formula_.operands(last_), is_element)
                           : is_element(winners.front());
  }

  void ExplainExtreme() {
    const std::vector<Formula::Node> winners = steps_.WinnersOf(last_);
    if (winners.empty()) {
      calculation_.rule = ValueRule::kOnlyNan;
      calculation_.reason = "all elements are NaN";
      return;
    }
    const std::string first = steps_.TextOf(winners.front());
    const bool is_maximum = formula_.operation(last_) == Operation::kMaximum;
    const std::string_view extreme = is_maximum ? "greatest" : "least";
    const bool is_alone = winners.size() == 1;
    calculation_.rule = is_alone ? ValueRule::kMinMax : ValueRule::kFirst;
    calculation_.reason = is_alone ? fmt::format("{} is the {} element", first, extreme)
                                   : fmt::format("{} is the first of {} equal {} elements", first,
                                                 winners.size(), extreme);
    const auto nans = std::ranges::count_if(formula_.operands(last_), [&](Formula::Node node) {
      return std::isnan(steps_.ValueOf(node).number.head);
    });
    if (nans > 0) {
      calculation_.reason += fmt::format("; {} NaN {} skipped", nans, nans == 1 ? "is" : "are");
    }
  }

  // --- floats ------------------------------------------------------------------------------------

  template <typename T>
  void ExplainFloat(T result) {
    const double head = value_.number.head;
    if (!std::isfinite(head)) {
      calculation_.quantity = steps_.TextOf(last_);
      calculation_.rule = std::isnan(head) ? ValueRule::kNan : ValueRule::kInfinity;
      calculation_.reason = fmt::format("the steps lead to {}", head);
      return;
    }
    if (IsExactQuotient()) return ExplainQuotient(result);
    if (IsExactRoot()) return ExplainRoot(result);
    Tell(last_);
    const Dyadic value = ToDyadic(value_);
    ExplainRounding(
        result, [&](const Dyadic& y) { return (value - y).Sign(); }, value_.exact, calculation_);
    Reason(result);
  }

  // Of exact numbers, which tell ties even where the quotient has no end.
  bool IsExactQuotient() {
    return formula_.operation(last_) == Operation::kQuotient && steps_.ValueOf(Operand(0)).exact &&
           steps_.ValueOf(Operand(1)).exact;
  }

  template <typename T>
  void ExplainQuotient(T result) {
    const Dyadic dividend = *steps_.ValueOf(Operand(0)).exact;
    const Dyadic divisor = *steps_.ValueOf(Operand(1)).exact;
    ExplainLast(result, "divided by " + divisor.ToDecimal(),
                [&](const Dyadic& y) { return (dividend - y * divisor).Sign() * divisor.Sign(); });
  }

  bool IsExactRoot() {
    return formula_.operation(last_) == Operation::kSquareRoot && steps_.ValueOf(Operand(0)).exact;
  }

  template <typename T>
  void ExplainRoot(T result) {
    const Dyadic square = *steps_.ValueOf(Operand(0)).exact;
    ExplainLast(result, "square root",
                [&](const Dyadic& y) { return y.Sign() < 0 ? 1 : (square - y * y).Sign(); });
  }

  // What is done to an exact number at last; the exact value minus y has the sign of `compare`.
  template <typename T>
  void ExplainLast(T result, std::string operation, const CompareWith& compare) {
    Tell(Operand(0));
    calculation_.then = std::move(operation);
    calculation_.value = value_.number.head;
    ExplainRounding(result, compare, std::nullopt, calculation_);
    Reason(result);
  }

  template <typename T>
  void Reason(T result) {
    if (calculation_.rule == ValueRule::kWithinBound || !IsExact()) {
      calculation_.rule = ValueRule::kWithinBound;
      calculation_.reason = "near the exact value, as dmlop-numerics(7) says";
    } else if (value_.number.head == 0) {
      calculation_.rule = ValueRule::kZeroSign;
      calculation_.reason = ZeroReason(std::signbit(AsDouble(result)));
    } else {
      calculation_.reason = RoundingReason(calculation_.rule, kDataTypeOf<T>);
    }
  }

  bool IsExact() { return value_.exact || IsExactQuotient() || IsExactRoot(); }

  std::string_view ZeroReason(bool is_minus) const {
    if (formula_.operation(last_) == Operation::kSum && formula_.operands(last_).empty()) {
      return "a sum of nothing is +0";
    }
    return is_minus ? "all terms are zeros whose signs make a -0"
                    : "an exact zero is +0 unless all terms are -0";
  }

  // --- integers ----------------------------------------------------------------------------------

  template <typename T>
  void ExplainInteger(T result) {
    switch (formula_.operation(last_)) {
      case Operation::kWrap:
        calculation_.quantity = steps_.TextOf(Operand(0));
        return ExplainModulo(result, *steps_.ValueOf(Operand(0)).exact, calculation_);
      case Operation::kTruncate:
        return ExplainTruncated(kDataTypeOf<T>);
      case Operation::kClamp:
        return ExplainClamped(result);
      default:
        Tell(last_);
        calculation_.reason = RoundingReason(ValueRule::kExact, kDataTypeOf<T>);
    }
  }

  void ExplainTruncated(DataType type) {
    last_ = Operand(0);
    if (IsExactQuotient()) {
      Tell(Operand(0));
      calculation_.then = "divided by " + steps_.ValueOf(Operand(1)).exact->ToDecimal();
      calculation_.value = steps_.ValueOf(last_).number.head;
    } else {
      Tell(last_);
    }
    if (ToDyadic(steps_.ValueOf(last_)).exponent() >= 0) {
      calculation_.reason = RoundingReason(ValueRule::kExact, type);
    } else {
      calculation_.rule = ValueRule::kTruncated;
      calculation_.reason = "the fraction is cut off, toward zero";
    }
  }

  // A rounded number, to which a zero point may have been added.
  template <typename T>
  void ExplainClamped(T result) {
    Tell(Operand(0));
    if (calculation_.exact != fmt::format("{}", result)) {
      calculation_.rule = ValueRule::kClamped;
      calculation_.reason =
          fmt::format("beyond the range of {}, whose nearest end is taken", Name(kDataTypeOf<T>));
      return;
    }
    const FormulaValue before = steps_.ValueOf(formula_.operands(Rounded(Operand(0)))[0]);
    if (!std::isfinite(before.number.head)) {
      calculation_.rule = ValueRule::kNan;
      calculation_.reason = "NaN becomes 0";
      return;
    }
    const int64_t exponent = ToDyadic(before).exponent();
    if (exponent >= 0) {
      calculation_.reason = "a whole number, so nothing is rounded";
    } else if (exponent == -1) {
      calculation_.rule = ValueRule::kTieToEven;
      calculation_.reason = "two whole numbers are equally near; the even one is taken";
    } else {
      calculation_.rule = ValueRule::kNearest;
      calculation_.reason = "the nearest whole number";
    }
  }

  Formula::Node Rounded(Formula::Node node) const {
    while (formula_.operation(node) != Operation::kRound) node = formula_.operands(node)[0];
    return node;
  }

  const Formula& formula_;
  Formula::Node last_;
  FormulaSteps& steps_;
  FormulaValue value_;
  Calculation calculation_;
};

}  // namespace

Calculation ExplainFormula(const Formula& formula, Formula::Node last, const OperatorDesc& op,
                           DataType type, const ElementBytes& result, ListLength length) {
  FormulaSteps steps(formula, op);
  Calculation calculation;
  VisitDataType(Join<Floats, Integers64, Integers32, Integers16, Integers8>(), type,
                [&]<typename T>() {
                  calculation = FormulaExplanation(formula, last, steps).For(ElementOf<T>(result));
                });
  calculation.steps = steps.All(length);
  return calculation;
}

}  // namespace dmlop
