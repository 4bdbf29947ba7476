// SPDX-License-Identifier: Apache-2.0
#include "core/explain/formula_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"

namespace dmlop {
namespace {

using Operation = FormulaOperation;

// Whole numbers are printed with all digits, others as binary64.
std::string NumberText(const FormulaValue& value) {
  constexpr int64_t kMostBits = 128;
  const bool is_long = value.number.tail != 0 && value.exact && value.exact->exponent() >= 0;
  if (is_long && value.exact->bit_length() <= kMostBits) return value.exact->ToDecimal();
  return fmt::format("{}", value.number.head);
}

bool IsLeaf(Operation operation) {
  return operation == Operation::kElement || operation == Operation::kNumber;
}

struct FunctionName {
  ElementWiseFunction function;
  std::string_view name;
  size_t parameters = 0;  // that are told
};

using F = ElementWiseFunction;
constexpr FunctionName kFunctionNames[] = {{F::kCeil, "ceil"},
                                           {F::kFloor, "floor"},
                                           {F::kRoundHalvesToEven, "round"},
                                           {F::kRoundTowardZero, "truncate"},
                                           {F::kRoundHalvesAway, "round halves away from 0"},
                                           {F::kModulusTruncate, "fmod"},
                                           {F::kModulusFloor, "floored modulus"},
                                           {F::kSoftsign, "softsign"},
                                           {F::kExp, "exp"},
                                           {F::kLog, "ln"},
                                           {F::kSin, "sin"},
                                           {F::kCos, "cos"},
                                           {F::kTan, "tan"},
                                           {F::kAsin, "asin"},
                                           {F::kAcos, "acos"},
                                           {F::kAtan, "atan"},
                                           {F::kSinh, "sinh"},
                                           {F::kCosh, "cosh"},
                                           {F::kTanh, "tanh"},
                                           {F::kAsinh, "asinh"},
                                           {F::kAcosh, "acosh"},
                                           {F::kAtanh, "atanh"},
                                           {F::kErf, "erf"},
                                           {F::kSigmoid, "sigmoid"},
                                           {F::kGelu, "gelu"},
                                           {F::kElu, "elu", 1},
                                           {F::kCelu, "celu", 1},
                                           {F::kScaledElu, "scaled elu", 2},
                                           {F::kScaledTanh, "scaled tanh", 2},
                                           {F::kSoftplus, "softplus", 1},
                                           {F::kParametricSoftplus, "parametric softplus", 2},
                                           {F::kSwish, "swish", 1},
                                           {F::kConstantPow, "pow", 1},
                                           {F::kPow, "pow"},
                                           {F::kAtanYx, "atan2"}};

// Longer lists are not part of an expression.
constexpr size_t kMostInline = 4;

}  // namespace

std::vector<FormulaStep> FormulaSteps::All(Formula::Node last, ListLength length) {
  Reached reached;
  Reach(last, true, reached);
  std::vector<FormulaStep> steps;
  for (const auto& [node, name] : formula_.names()) {
    const bool is_left_out = reached.left_out.contains(node) && !reached.taken.contains(node);
    if (!is_left_out) steps.push_back(StepAt(node, length));
  }
  return steps;
}

void FormulaSteps::Reach(Formula::Node node, bool is_taken, Reached& reached) {
  auto& named = is_taken ? reached.taken : reached.left_out;
  if (formula_.IsNamed(node) && !named.insert(node).second) return;
  const Formula::Node definition = formula_.definition(node);
  const std::span<const Formula::Node> operands = formula_.operands(definition);
  const size_t not_taken = IsChoice(definition) ? (IsMet(definition) ? 3 : 2) : operands.size();
  for (size_t k = 0; k < operands.size(); ++k) {
    Reach(operands[k], is_taken && k != not_taken, reached);
  }
}

bool FormulaSteps::IsChoice(Formula::Node node) const {
  return dmlop::IsChoice(formula_.operation(node));
}

Formula::Node FormulaSteps::Taken(Formula::Node node) {
  while (IsChoice(node)) node = formula_.operands(node)[IsMet(node) ? 2 : 3];
  return node;
}

Formula::Node FormulaSteps::MadeOf(Formula::Node node) {
  const Formula::Node next = Taken(formula_.definition(node));
  return next == node ? node : MadeOf(next);
}

bool FormulaSteps::IsMet(Formula::Node choice) {
  const FormulaValue x = ValueOf(formula_.operands(choice)[0]);
  const FormulaValue y = ValueOf(formula_.operands(choice)[1]);
  return formula_.operation(choice) == Operation::kIfAtLeast ? IsAtLeast(x, y) : IsGreater(x, y);
}

std::string FormulaSteps::TextOf(Formula::Node node) {
  const auto name = formula_.names().find(node);
  return name != formula_.names().end() ? name->second : Expression(node, Spelling::kNames);
}

FormulaStep FormulaSteps::StepAt(Formula::Node node, ListLength length) {
  const FormulaValue value = ValueOf(node);
  const Formula::Node taken = MadeOf(node);
  FormulaStep step;
  step.name = formula_.names().at(node);
  step.operation = Name(formula_.operation(taken));
  step.is_approximate = IsFinite(value) && !value.exact;
  step.value = value.number.head;
  if (step.is_approximate && IsFar(value))
    step.value *= std::fabs(step.value) < 1 ? 0 : std::numeric_limits<double>::infinity();
  if (value.exact && value.exact->Sign() != 0) step.exact = value.exact->ToDecimal();
  if (formula_.operation(node) == Operation::kNumber) return step;
  const std::span<const Formula::Node> operands = formula_.operands(taken);
  if (HasTerms(taken)) {
    step.count = static_cast<int64_t>(operands.size());
    AddTerms(operands, length, step);
    step.winner = WinnerOf(taken);
    return step;
  }
  step.expression = Expression(node, Spelling::kNames);
  step.expression += Conditions(formula_.definition(node));
  if (operands.empty()) step.terms.push_back(TermAt(taken));
  AddTerms(operands, length, step);
  return step;
}

void FormulaSteps::AddTerms(std::span<const Formula::Node> operands, ListLength length,
                            FormulaStep& step) {
  const auto count = static_cast<int64_t>(operands.size());
  const auto edge = static_cast<int64_t>(length.edge);
  for (int64_t k = 0; k < count; ++k) {
    if (count > length.most && k == edge) k = count - edge;
    step.terms.push_back(TermAt(operands[static_cast<size_t>(k)]));
  }
}

std::string FormulaSteps::Conditions(Formula::Node node) {
  std::vector<std::string> conditions;
  for (; IsChoice(node); node = formula_.operands(node)[IsMet(node) ? 2 : 3]) {
    conditions.push_back(Condition(node));
  }
  return conditions.empty() ? "" : fmt::format(", as {}", fmt::join(conditions, " and "));
}

std::string FormulaSteps::Condition(Formula::Node choice) {
  const Formula::Node x = formula_.operands(choice)[0];
  const std::string left = Operand(x, Spelling::kNames);
  const std::string right = Operand(formula_.operands(choice)[1], Spelling::kNames);
  const bool is_greater = formula_.operation(choice) == Operation::kIfGreater;
  if (IsMet(choice)) return fmt::format("{} {} {}", left, is_greater ? ">" : ">=", right);
  if (IsNan(ValueOf(x))) return fmt::format("{} is NaN", left);
  return fmt::format("{} {} {}", left, is_greater ? "<=" : "<", right);
}

// A product lists its factors as terms only if there are many.
bool FormulaSteps::HasTerms(Formula::Node node) const {
  const Operation operation = formula_.operation(node);
  const bool is_short = formula_.operands(node).size() <= kMostInline;
  return formula_.HasList(node) && !(operation == Operation::kProduct && is_short);
}

std::optional<FormulaTerm> FormulaSteps::WinnerOf(Formula::Node node) {
  const Operation operation = formula_.operation(node);
  if (operation != Operation::kMaximum && operation != Operation::kMinimum) return std::nullopt;
  const DoubleDouble value = ValueOf(node).number;
  for (const Formula::Node operand : formula_.operands(node)) {
    const DoubleDouble own = ValueOf(operand).number;
    const bool has_sign = std::signbit(own.head) == std::signbit(value.head);
    if (own.head == value.head && own.tail == value.tail && has_sign) return TermAt(operand);
  }
  return std::nullopt;
}

FormulaTerm FormulaSteps::TermAt(Formula::Node node) {
  FormulaTerm term{TextOf(node), {}, {}, {}, ValueOf(node).number.head};
  AddElements(node, term);
  const Operation operation = formula_.operation(node);
  if (operation == Operation::kProduct || operation == Operation::kWeighted) {
    for (const Formula::Node factor : formula_.operands(node)) {
      term.factors.push_back(ValueOf(factor).number.head);
    }
  }
  if (!IsLeaf(formula_.operation(node))) term.numbers = Expression(node, Spelling::kNumbers);
  return term;
}

void FormulaSteps::AddElements(Formula::Node node, FormulaTerm& term) {
  if (formula_.operation(node) == Operation::kElement) term.elements.push_back(ElementAt(node));
  for (const Formula::Node operand : formula_.operands(Taken(node))) {
    if (!formula_.IsNamed(operand)) AddElements(operand, term);
  }
}

FormulaTerm::Element FormulaSteps::ElementAt(Formula::Node node) {
  return {tensors_[formula_.tensor(node)], formula_.index(node), ValueOf(node).number.head};
}

// --- expressions ---------------------------------------------------------------------------------

std::string FormulaSteps::Operand(Formula::Node node, Spelling spelling) {
  const Operation operation = formula_.operation(node);
  const bool is_named = formula_.names().contains(node);
  if (spelling == Spelling::kNumbers && (is_named || IsLeaf(operation))) {
    return NumberText(ValueOf(node));
  }
  if (is_named) {
    const std::string& name = formula_.names().at(node);
    return name.find(' ') == std::string::npos ? name : fmt::format("({})", name);
  }
  const std::string text = Expression(node, spelling);
  const bool is_phrase = operation == Operation::kNumber && text.find(' ') != std::string::npos;
  const Operation shown = formula_.operation(MadeOf(node));
  const bool is_closed = IsLeaf(shown) || shown >= Operation::kFlooredQuotient;
  return is_closed && !is_phrase ? text : fmt::format("({})", text);
}

std::string FormulaSteps::Argument(Formula::Node node, Spelling spelling) {
  const auto name = formula_.names().find(node);
  if (name == formula_.names().end()) return Expression(node, spelling);
  return spelling == Spelling::kNumbers ? NumberText(ValueOf(node)) : name->second;
}

std::string FormulaSteps::Joined(Formula::Node node, std::string_view sign, Spelling spelling) {
  const std::span<const Formula::Node> operands = formula_.operands(node);
  if (operands.size() > kMostInline) {
    return fmt::format("{} of {}", Name(formula_.operation(node)), operands.size());
  }
  std::string joined;
  for (const Formula::Node& operand : operands) {
    // Products bind more closely than what joins others.
    const bool is_product = formula_.operation(operand) == Operation::kProduct &&
                            !formula_.names().contains(operand) && sign != " ^ ";
    const std::string text = is_product     ? Expression(operand, spelling)
                             : sign == ", " ? Argument(operand, spelling)
                                            : Operand(operand, spelling);
    if (&operand == operands.data()) {
      joined = text;
    } else if (sign == " + " && text.starts_with('-')) {
      joined += " - " + text.substr(1);
    } else {
      joined += fmt::format("{}{}", sign, text);
    }
  }
  return joined;
}

std::string FormulaSteps::FunctionText(Formula::Node node, Spelling spelling) {
  const Formula::Node definition = formula_.definition(node);
  if (definition != node) return Expression(definition, spelling);
  const auto* function =
      std::ranges::find(kFunctionNames, formula_.function(node), &FunctionName::function);
  std::string text = Joined(node, ", ", spelling);
  for (const double number : formula_.parameters(node).first(function->parameters)) {
    text += fmt::format(", {}", number);
  }
  return fmt::format("{}({})", function->name, text);
}

std::string FormulaSteps::SquareText(Formula::Node x, Spelling spelling) {
  const std::string text = Operand(x, spelling);
  return text.starts_with('-') ? fmt::format("({})^2", text) : text + "^2";
}

std::string FormulaSteps::Expression(Formula::Node node, Spelling spelling) {
  const auto inside = [&](std::string_view format) {
    return fmt::format(fmt::runtime(format), Argument(formula_.operands(node)[0], spelling));
  };
  switch (formula_.operation(node)) {
    case Operation::kElement: {
      if (spelling == Spelling::kNumbers) return NumberText(ValueOf(node));
      return fmt::format("{}[{}]", tensors_[formula_.tensor(node)],
                         fmt::join(formula_.index(node), ", "));
    }
    case Operation::kNumber:
      if (spelling == Spelling::kNames && !formula_.number_name(node).empty()) {
        return formula_.number_name(node);
      }
      return NumberText(ValueOf(node));
    case Operation::kSum:
      return Joined(node, " + ", spelling);
    case Operation::kProduct:
    case Operation::kWeighted:
      return Joined(node, " * ", spelling);
    case Operation::kMean:
      return fmt::format("mean({})", Joined(node, ", ", spelling));
    case Operation::kFirstMaximum:
    case Operation::kLastMaximum:
    case Operation::kFirstMinimum:
    case Operation::kLastMinimum:
      return fmt::format("{} of {}", Name(formula_.operation(node)),
                         Counted(static_cast<int64_t>(formula_.operands(node).size()), "element"));
    case Operation::kIfAtLeast:
    case Operation::kIfGreater: {
      const Formula::Node taken = Taken(node);
      return formula_.IsNamed(taken) ? Operand(taken, spelling) : Expression(taken, spelling);
    }
    case Operation::kMaximum:
    case Operation::kAtLeast:
      return fmt::format("max({})", Joined(node, ", ", spelling));
    case Operation::kMinimum:
      return fmt::format("min({})", Joined(node, ", ", spelling));
    case Operation::kDifference:
      return Joined(node, " - ", spelling);
    case Operation::kQuotient:
    case Operation::kQuotientOrDividend:
      return fmt::format("{} / {}", Operand(formula_.operands(node)[0], spelling),
                         Operand(formula_.operands(node)[1], spelling));
    case Operation::kPower:
      return Joined(node, " ^ ", spelling);
    case Operation::kNegative:
      return "-" + Operand(formula_.operands(node)[0], spelling);
    case Operation::kFlooredQuotient:
      return fmt::format("floor({})", Joined(node, " / ", spelling));
    case Operation::kTruncatedQuotient:
      return fmt::format("truncate({})", Joined(node, " / ", spelling));
    case Operation::kMagnitude:
      return inside("|{}|");
    case Operation::kSquare:
      return SquareText(formula_.operands(node)[0], spelling);
    case Operation::kSquareRoot:
      return inside("sqrt({})");
    case Operation::kExponential:
      return inside("e^({})");
    case Operation::kLogarithm:
      return inside("ln({})");
    case Operation::kElementWise:
      return FunctionText(node, spelling);
    case Operation::kRoundToFloat64:
      return inside("FLOAT64({})");
    case Operation::kRoundToFloat32:
      return inside("FLOAT32({})");
    case Operation::kRoundToFloat16:
      return inside("FLOAT16({})");
    case Operation::kRound:
      return inside("round({})");
    case Operation::kTruncate:
      return inside("truncate({})");
    case Operation::kClamp:
      return fmt::format("clamp({})", Joined(node, ", ", spelling));
    case Operation::kWrap:
      return inside("{} in the type's range");
  }
  return "";
}

}  // namespace dmlop
