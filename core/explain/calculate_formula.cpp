#include "core/explain/calculate_formula.h"

#include <fmt/format.h>

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
    if constexpr (std::is_integral_v<T>) {
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
      calculation_.exact = value.exact->ToDecimal();
    } else if (std::isfinite(value.number.head)) {
      calculation_.approximate = value.number.head;
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
    Tell(Operand(0));
    calculation_.then = "divided by " + divisor.ToDecimal();
    calculation_.value = value_.number.head;
    ExplainRounding(
        result, [&](const Dyadic& y) { return (dividend - y * divisor).Sign() * divisor.Sign(); },
        std::nullopt, calculation_);
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

  bool IsExact() { return value_.exact || IsExactQuotient(); }

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
