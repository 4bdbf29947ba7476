// SPDX-License-Identifier: Apache-2.0
#include "core/explain/calculation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "core/base/progress.h"
#include "core/exact/dyadic.h"
#include "core/explain/formula_steps.h"
#include "core/explain/formula_value.h"
#include "core/ops/families.h"
#include "core/ops/fused.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr std::string_view kRuleNames[] = {"exact",        "nearest",   "tie-to-even", "overflow",
                                           "within-bound", "nan",       "infinity",    "zero-sign",
                                           "modulo",       "extreme",   "first",       "last",
                                           "only-nan",     "truncated", "clamped",     "too-long"};

// --- both neighbours of an exact value, and which of them was taken ------------------------------

// The sign of the exact value minus x.
using CompareWith = std::function<int(const Dyadic& x)>;

// Rounding takes infinity to be 2 to this power.
template <typename T>
inline constexpr int kAfterGreatest = sizeof(T) == 8   ? 1024
                                      : sizeof(T) == 4 ? 128
                                                       : 16;

template <typename T>
Dyadic PlaceOf(T x) {
  const double value = AsDouble(x);
  if (!std::isinf(value)) return Dyadic(value);
  return Dyadic(value > 0 ? 1 : -1).TimesPowerOfTwo(kAfterGreatest<T>);
}

// The next number up or down; from the greatest, infinity.
template <typename T>
T NextNumber(T x, bool up) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                  std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(T) - 1));
  const Bits bits = std::bit_cast<Bits>(x);
  const bool negative = (bits & kSign) != 0;
  if ((bits & ~kSign) == 0) return std::bit_cast<T>(static_cast<Bits>(up ? 1 : kSign | 1));
  return std::bit_cast<T>(static_cast<Bits>(negative == up ? bits - 1 : bits + 1));
}

// Fills in the rule and the neighbours for a result that is a number or an infinity; `exact` is the
// exact value if that has a finite decimal.
template <typename T>
void ExplainRounding(T result, const CompareWith& compare, const std::optional<Dyadic>& exact,
                     Calculation& calculation) {
  const int side = compare(PlaceOf(result));
  const bool infinite = std::isinf(AsDouble(result));
  if (side == 0 && !infinite) {
    calculation.rule = ValueRule::kExact;
    return;
  }
  // An infinity has nothing beyond it, so its neighbour is the greatest number.
  const bool result_is_below = infinite ? AsDouble(result) < 0 : side > 0;
  const T other = NextNumber(result, result_is_below);
  const T below = result_is_below ? result : other;
  const T above = result_is_below ? other : result;
  const auto neighbour = [&](T number) {
    Neighbour description{BytesOf(number), "", ""};
    if (std::isinf(AsDouble(number))) return description;
    description.exact = PlaceOf(number).ToDecimal();
    if (!exact) return description;
    const Dyadic difference = *exact - PlaceOf(number);
    description.distance = (difference.Sign() < 0 ? -difference : difference).ToDecimal();
    return description;
  };
  calculation.below = neighbour(below);
  calculation.above = neighbour(above);

  const int beyond_middle = compare((PlaceOf(below) + PlaceOf(above)).TimesPowerOfTwo(-1));
  const bool nearest =
      beyond_middle == 0 ? ElementBits(result) % 2 == 0 : (beyond_middle < 0) == result_is_below;
  if (!nearest) {
    calculation.rule = ValueRule::kWithinBound;
  } else if (infinite) {
    calculation.rule = ValueRule::kOverflow;
  } else {
    calculation.rule = beyond_middle == 0 ? ValueRule::kTieToEven : ValueRule::kNearest;
  }
}

// --- questions -----------------------------------------------------------------------------------

// A question about an output element.
struct Question {
  const OperatorDesc& op;
  InputViews inputs;
  const Element& output;
  ListLength length;

  Region place() const {
    return {output.tensor, output.index, Dims::Filled(output.index.size(), 1)};
  }
  DataType type() const {
    return *TensorSlots(op, TensorRole::kOutput)[output.tensor].desc->data_type;
  }
};

Calculation TooLong() {
  Calculation calculation;
  calculation.rule = ValueRule::kTooLong;
  calculation.reason =
      fmt::format("made of more than {} parts, which are not told", Formula::kMostNodes);
  return calculation;
}

// The engine's own result.
ElementBytes ValueOf(const Question& question) {
  alignas(8) ElementBytes value{};
  const Region place = question.place();
  RunPart(question.op, question.inputs, place,
          {value.data(), question.type(), PackedLayout(place.sizes)});
  return value;
}

Outcome Unfused(const Question& question) {
  Outcome outcome{ValueOf(question), std::nullopt};
  Formula formula(question.inputs);
  if (const auto last = FormulaOf(question.op, question.place(), formula)) {
    std::vector<std::string> inputs;
    for (const TensorSlot& slot : TensorSlots(question.op, TensorRole::kInput)) {
      inputs.push_back(DisplayName(slot.path));
    }
    outcome.calculation = ExplainFormula(formula, *last, std::move(inputs), question.type(),
                                         outcome.value, question.length);
  } else if (formula.is_too_long()) {
    outcome.calculation = TooLong();
  }
  return outcome;
}

// Explains an activation of results that the host computes by itself, as of a whole row. Dimensions
// along which it does not look at all of them have one, whatever the index.
std::optional<Calculation> ExplainActivation(const OperatorDesc& activation, const Question& host,
                                             const ElementBytes& value) {
  const Region seen = *SourcesOf(activation)[0](host.place());
  Layout layout = PackedLayout(seen.sizes);
  std::vector<ElementBytes> bytes(static_cast<size_t>(layout.element_count()));
  auto* const data = reinterpret_cast<std::byte*>(bytes.data());
  RunPart(host.op, host.inputs, seen, {data, host.type(), layout});
  for (size_t d = 0; d < seen.sizes.size(); ++d) {
    if (seen.sizes[d] == 1) layout.strides[d] = 0;
  }
  const ConstTensorView input{data, host.type(), layout};
  Formula formula({&input, 1});
  const auto last = FormulaOf(activation, host.place(), formula);
  if (!last) return std::nullopt;
  return ExplainFormula(formula, *last, {"own result"}, host.type(), value, host.length);
}

Outcome Activated(const Question& question) {
  const OperatorDesc activation = *FusedAlone(question.op);
  const OperatorDesc alone = WithoutActivation(question.op);
  const Question host{alone, question.inputs, question.output, question.length};
  const Outcome own = Unfused(host);
  Outcome outcome{ValueOf(question), own.calculation};
  outcome.activation = {activation.name(), own.value,
                        ExplainActivation(activation, host, outcome.value)};
  return outcome;
}

}  // namespace

std::string_view Name(ValueRule rule) {
  return kRuleNames[static_cast<size_t>(rule)];
}

Outcome Calculate(const OperatorDesc& op, InputViews inputs, const Element& output,
                  ListLength length) {
  const Work work("explaining");  // how often elements are looked at depends on them
  const Question question{op, inputs, output, length};
  const bool is_activated = output.tensor == 0 && FusedActivationOf(op) != nullptr;
  return is_activated ? Activated(question) : Unfused(question);
}

// --- what has a formula --------------------------------------------------------------------------

namespace {

using Operation = FormulaOperation;

// The sentence for what ExplainRounding found.
std::string RoundingReason(ValueRule rule, DataType type) {
  switch (rule) {
    case ValueRule::kNearest:
      return fmt::format("the nearer of the two {} neighbours", Name(type));
    case ValueRule::kTieToEven:
      return "both neighbours are equally near; the one whose last bit is 0 is taken";
    case ValueRule::kOverflow:
      return fmt::format("half a step or more beyond the greatest {}", Name(type));
    default:
      return fmt::format("a{} {} number, so nothing is rounded", Name(type)[0] == 'I' ? "n" : "",
                         Name(type));
  }
}

class FormulaExplanation {
 public:
  FormulaExplanation(const Formula& formula, Formula::Node last, DataType type, FormulaSteps& steps)
      : formula_(formula), last_(last), type_(type), steps_(steps) {}

  template <typename T>
  Calculation For(T result) {
    if (IsExtreme(formula_, last_)) {
      Decide(DecisionOfExtreme(formula_, last_, steps_));
    } else if constexpr (std::is_integral_v<T>) {
      ExplainInteger(result);
    } else {
      ExplainFloat(result);
    }
    return std::move(calculation_);
  }

 private:
  Operation OperationOf(Formula::Node node) const { return formula_.operation(node); }
  Formula::Node Operand(Formula::Node node, size_t i = 0) const {
    return formula_.operands(node)[i];
  }
  bool IsExact(Formula::Node node) { return steps_.ValueOf(node).exact.has_value(); }

  void Decide(const Decision& decision) {
    calculation_.rule = decision.rule;
    calculation_.reason = decision.reason;
    if (formula_.inputs().size() != 1) return;
    for (const Formula::Node node : decision.deciding) {
      calculation_.deciding.push_back(formula_.index(node));
    }
  }

  void Rule(ValueRule rule, std::string reason) {
    calculation_.rule = rule;
    calculation_.reason = std::move(reason);
  }

  // --- the quantity ------------------------------------------------------------------------------

  // The value of a node, before the result is made of it. Others are far beyond what floats tell
  // from 0 or infinity.
  void Tell(Formula::Node node) {
    const FormulaValue value = steps_.ValueOf(node);
    calculation_.quantity = steps_.TextOf(node);
    if (value.exact) {
      const bool is_minus_zero = IsZero(value) && std::signbit(value.number.head);
      calculation_.exact = is_minus_zero ? "-0" : value.exact->ToDecimal();
    } else if (IsFinite(value) && !IsFar(value)) {
      calculation_.approximate = value.number.head;
    }
  }

  // Tells how a node follows from an exact quantity with a name; empty if it does not.
  std::string ThenText(Formula::Node node) {
    const auto operands = formula_.operands(node);
    if (operands.empty() || !formula_.IsNamed(operands[0]) || !IsExact(operands[0])) return "";
    switch (OperationOf(node)) {
      case Operation::kQuotient:
        return IsExact(operands[1]) ? "divided by " + steps_.ValueOf(operands[1]).exact->ToDecimal()
                                    : "";
      case Operation::kSquareRoot:
        return "square root";
      case Operation::kLogarithm:
        return "natural logarithm";
      default:
        return "";
    }
  }

  void TellSteps(Formula::Node node) {
    calculation_.then = formula_.IsNamed(node) ? "" : ThenText(node);
    if (calculation_.then.empty()) return Tell(node);
    Tell(Operand(node));
    const FormulaValue value = steps_.ValueOf(node);
    if (IsFinite(value)) {
      calculation_.value = value.number.head;
    }
  }

  // --- floats ------------------------------------------------------------------------------------

  template <typename T>
  void ExplainFloat(T result) {
    const FormulaValue value = steps_.ValueOf(last_);
    const double own = AsDouble(result);
    TellSteps(last_);
    if (!IsFinite(value)) {
      const double head = value.number.head;
      const bool is_result = std::isnan(head) ? std::isnan(own) : head == own;
      return is_result ? Decide(DecisionOfSpecial(formula_, last_, steps_)) : RuleOfDropped();
    }
    ExplainRounding(result, Comparison(), value.exact, calculation_);
    if (IsZero(value)) return ExplainZero(std::signbit(own));
    if (calculation_.rule == ValueRule::kWithinBound || !IsDecided()) {
      return Rule(ValueRule::kWithinBound,
                  formula_.promise().empty()
                      ? "near the exact value, as dmlop-numerics(7) says"
                      : fmt::format("within {} of the exact value", formula_.promise()));
    }
    calculation_.reason = RoundingReason(calculation_.rule, type_);
  }

  void RuleOfDropped() {
    Rule(ValueRule::kWithinBound,
         fmt::format("the exact value has more than {} binary digits and is not written out",
                     kMostProductBits));
  }

  // Exactly where a quotient or a root of exact numbers has no end.
  CompareWith Comparison() {
    const Formula::Node node = steps_.Taken(last_);
    if (!IsExact(node) && IsQuotientOrRootOfExact(node)) {
      const Dyadic x = *steps_.ValueOf(Operand(node)).exact;
      if (OperationOf(node) == Operation::kSquareRoot) {
        return [x](const Dyadic& y) { return y.Sign() < 0 ? 1 : (x - y * y).Sign(); };
      }
      const Dyadic divisor = *steps_.ValueOf(Operand(node, 1)).exact;
      return [=](const Dyadic& y) { return (x - y * divisor).Sign() * divisor.Sign(); };
    }
    const Dyadic value = ToDyadic(steps_.ValueOf(node));
    return [value](const Dyadic& y) { return (value - y).Sign(); };
  }

  bool IsQuotientOrRootOfExact(Formula::Node node) {
    if (OperationOf(node) == Operation::kSquareRoot) return IsExact(Operand(node));
    return OperationOf(node) == Operation::kQuotient && IsExact(Operand(node)) &&
           IsExact(Operand(node, 1));
  }

  // Returns whether what is known of the value tells how it is rounded. The functions are evaluated
  // so.
  bool IsDecided() {
    const Formula::Node node = steps_.Taken(last_);
    if (IsExact(node) || IsQuotientOrRootOfExact(node)) return true;
    const auto is_number = [&](Formula::Node operand) {
      return steps_.ValueOf(operand).number.tail == 0;
    };
    return OperationOf(node) == Operation::kElementWise &&
           std::ranges::all_of(formula_.operands(node), is_number);
  }

  // Factors and sums of nothing but zeros decide a sign; other zeros are +0.
  void ExplainZero(bool is_minus) {
    Formula::Node node = steps_.Taken(last_);
    if (OperationOf(node) == Operation::kQuotient) node = Operand(node);
    const bool is_product = OperationOf(node) == Operation::kProduct && formula_.HasList(node);
    if (is_minus || is_product || IsSumOfZeros(node)) {
      return Decide(DecisionOfZero(formula_, node, steps_));
    }
    const bool is_of_nothing =
        OperationOf(node) == Operation::kSum && formula_.operands(node).empty();
    calculation_.reason =
        is_of_nothing ? "a sum of nothing is 0" : RoundingReason(ValueRule::kExact, type_);
  }

  bool IsSumOfZeros(Formula::Node node) {
    const auto operands = formula_.operands(node);
    const auto is_zero = [&](Formula::Node operand) { return IsZero(steps_.ValueOf(operand)); };
    return (OperationOf(node) == Operation::kSum || OperationOf(node) == Operation::kMean) &&
           !operands.empty() && std::ranges::all_of(operands, is_zero);
  }

  // --- integers ----------------------------------------------------------------------------------

  template <typename T>
  void ExplainInteger(T result) {
    const bool wraps = OperationOf(last_) == Operation::kWrap;
    const bool clamps = OperationOf(last_) == Operation::kClamp;
    const Formula::Node whole = steps_.Taken(wraps || clamps ? Operand(last_) : last_);
    const bool truncates = OperationOf(whole) == Operation::kTruncate;
    const Formula::Node real = truncates ? Operand(whole) : whole;
    TellSteps(wraps && !truncates ? Operand(last_) : real);
    const FormulaValue value = steps_.ValueOf(whole);
    if (IsNan(steps_.ValueOf(real))) return Rule(ValueRule::kNan, "NaN becomes 0");
    if (wraps) {
      if (!value.exact) return RuleOfDroppedInteger();
      if (Wrapped(result, *value.exact)) return;
    } else if (!value.exact || (*value.exact - Dyadic(result)).Sign() != 0) {
      return Rule(ValueRule::kClamped,
                  fmt::format("beyond the range of {}, whose nearest end is taken", Name(type_)));
    }
    if (truncates && ToDyadic(steps_.ValueOf(real)).exponent() < 0) {
      return Rule(ValueRule::kTruncated, "the fraction is cut off, toward zero");
    }
    if (clamps && !truncates) return ExplainRounded(whole);
    calculation_.reason = wraps ? fmt::format("it fits into {}", Name(type_))
                                : RoundingReason(ValueRule::kExact, type_);
  }

  void RuleOfDroppedInteger() {
    Rule(ValueRule::kModulo,
         fmt::format("it has more than {} bits; the result is what is left modulo 2^{}",
                     kMostProductBits, BitWidth(type_)));
  }

  // The result is the exact integer modulo 2^width.
  template <typename T>
  bool Wrapped(T result, const Dyadic& exact) {
    const Dyadic taken = exact - Dyadic(result);
    if (taken.Sign() == 0) return false;
    calculation_.wraps = taken.TimesPowerOfTwo(-int64_t{BitWidth(type_)}).ToDecimal();
    Rule(ValueRule::kModulo,
         fmt::format("{} * 2^{} is taken off", calculation_.wraps, BitWidth(type_)));
    return true;
  }

  // A rounded number, to which a zero point may have been added.
  void ExplainRounded(Formula::Node node) {
    while (OperationOf(node) != Operation::kRound) node = Operand(node);
    const FormulaValue before = steps_.ValueOf(Operand(node));
    if (IsNan(before)) return Rule(ValueRule::kNan, "NaN becomes 0");
    const int64_t exponent = ToDyadic(before).exponent();
    if (exponent >= 0) {
      calculation_.reason = "a whole number, so nothing is rounded";
    } else if (exponent == -1) {
      Rule(ValueRule::kTieToEven, "two whole numbers are equally near; the even one is taken");
    } else {
      Rule(ValueRule::kNearest, "the nearest whole number");
    }
  }

  const Formula& formula_;
  const Formula::Node last_;
  const DataType type_;
  FormulaSteps& steps_;
  Calculation calculation_;
};

}  // namespace

Calculation ExplainFormula(const Formula& formula, Formula::Node last,
                           std::vector<std::string> inputs, DataType type,
                           const ElementBytes& result, ListLength length) {
  FormulaSteps steps(formula, std::move(inputs));
  Calculation calculation;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    calculation = FormulaExplanation(formula, last, type, steps).For(ElementOf<T>(result));
  });
  calculation.steps = steps.All(last, length);
  return calculation;
}

}  // namespace dmlop
