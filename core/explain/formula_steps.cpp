#include "core/explain/formula_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

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
  std::string_view name;
  size_t parameters = 0;  // that are told
};

FunctionName NameOf(ElementWiseFunction function) {
  constexpr FunctionName kNames[] = {{"softsign"},
                                     {"exp"},
                                     {"ln"},
                                     {"sin"},
                                     {"cos"},
                                     {"tan"},
                                     {"asin"},
                                     {"acos"},
                                     {"atan"},
                                     {"sinh"},
                                     {"cosh"},
                                     {"tanh"},
                                     {"asinh"},
                                     {"acosh"},
                                     {"atanh"},
                                     {"erf"},
                                     {"sigmoid"},
                                     {"gelu"},
                                     {"elu", 1},
                                     {"celu", 1},
                                     {"scaled elu", 2},
                                     {"scaled tanh", 2},
                                     {"softplus", 1},
                                     {"parametric softplus", 2},
                                     {"swish", 1},
                                     {"pow", 1},
                                     {"pow"},
                                     {"angle of y, x ="}};
  constexpr auto kFirst = static_cast<size_t>(ElementWiseFunction::kSoftsign);
  static_assert(std::size(kNames) == static_cast<size_t>(ElementWiseFunction::kCount) - kFirst);
  return kNames[static_cast<size_t>(function) - kFirst];
}

// Longer lists are not part of an expression.
constexpr size_t kMostInline = 4;

}  // namespace

FormulaSteps::FormulaSteps(const Formula& formula, const OperatorDesc& op)
    : formula_(formula), values_(formula) {
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    tensors_.push_back(DisplayName(slot.path));
  }
}

std::vector<FormulaStep> FormulaSteps::All(ListLength length) {
  std::vector<FormulaStep> steps;
  for (const auto& [node, name] : formula_.names()) steps.push_back(StepAt(node, length));
  return steps;
}

std::string FormulaSteps::TextOf(Formula::Node node) {
  const auto name = formula_.names().find(node);
  return name != formula_.names().end() ? name->second : Expression(node, Spelling::kNames);
}

FormulaStep FormulaSteps::StepAt(Formula::Node node, ListLength length) {
  const FormulaValue value = ValueOf(node);
  FormulaStep step;
  step.name = formula_.names().at(node);
  step.operation = Name(formula_.operation(node));
  step.value = value.number.head;
  if (value.exact && value.exact->Sign() != 0) step.exact = value.exact->ToDecimal();
  if (IsLeaf(formula_.operation(node))) return step;
  if (!HasTerms(node)) {
    step.expression = Expression(node, Spelling::kNames);
    return step;
  }
  const std::span<const Formula::Node> operands = formula_.operands(node);
  const auto count = static_cast<int64_t>(operands.size());
  step.count = count;
  for (int64_t k = 0; k < count; ++k) {
    const bool is_abridged = count > length.most;
    const auto edge = static_cast<int64_t>(length.edge);
    if (is_abridged && k == edge) k = count - edge;
    step.terms.push_back(TermAt(operands[static_cast<size_t>(k)]));
  }
  step.winner = WinnerOf(node);
  return step;
}

// Factors are terms only where they are many.
bool FormulaSteps::HasTerms(Formula::Node node) const {
  const Operation operation = formula_.operation(node);
  const bool is_short = formula_.operands(node).size() <= kMostInline;
  return TakesList(operation) && !(operation == Operation::kProduct && is_short);
}

std::optional<FormulaTerm> FormulaSteps::WinnerOf(Formula::Node node) {
  const Operation operation = formula_.operation(node);
  if (operation != Operation::kMaximum && operation != Operation::kMinimum) return std::nullopt;
  const std::vector<Formula::Node> winners = WinnersOf(node);
  return winners.empty() ? std::nullopt : std::optional(TermAt(winners.front()));
}

std::vector<Formula::Node> FormulaSteps::WinnersOf(Formula::Node extreme) {
  const DoubleDouble value = ValueOf(extreme).number;
  std::vector<Formula::Node> winners;
  for (const Formula::Node operand : formula_.operands(extreme)) {
    const DoubleDouble own = ValueOf(operand).number;
    const bool has_sign = std::signbit(own.head) == std::signbit(value.head);
    if (own.head == value.head && own.tail == value.tail && has_sign) winners.push_back(operand);
  }
  return winners;
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
  for (const Formula::Node operand : formula_.operands(node)) {
    if (!formula_.names().contains(operand)) AddElements(operand, term);
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
  const bool is_closed = IsLeaf(operation) || operation >= Operation::kMagnitude;
  return is_closed ? text : fmt::format("({})", text);
}

std::string FormulaSteps::Joined(Formula::Node node, std::string_view sign, Spelling spelling) {
  const std::span<const Formula::Node> operands = formula_.operands(node);
  if (operands.size() > kMostInline) {
    return fmt::format("{} of {}", Name(formula_.operation(node)), operands.size());
  }
  std::vector<std::string> texts;
  for (const Formula::Node operand : operands) {
    // Products bind more closely than what joins others.
    const bool is_product = formula_.operation(operand) == Operation::kProduct &&
                            !formula_.names().contains(operand) && sign != " ^ ";
    texts.push_back(is_product ? Expression(operand, spelling) : Operand(operand, spelling));
  }
  return fmt::format("{}", fmt::join(texts, sign));
}

std::string FormulaSteps::FunctionText(Formula::Node node, Spelling spelling) {
  const FunctionName function = NameOf(formula_.function(node));
  std::string text = Joined(node, ", ", spelling);
  for (const double number : formula_.parameters(node).first(function.parameters)) {
    text += fmt::format(", {}", number);
  }
  return fmt::format("{}({})", function.name, text);
}

std::string FormulaSteps::Expression(Formula::Node node, Spelling spelling) {
  const auto inside = [&](std::string_view format) {
    const std::span<const Formula::Node> operands = formula_.operands(node);
    const Formula::Node x = operands[0];
    const bool is_named = formula_.names().contains(x);
    const bool is_whole = is_named || IsLeaf(formula_.operation(x));
    return fmt::format(fmt::runtime(format),
                       is_whole ? Operand(x, spelling) : Expression(x, spelling));
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
    case Operation::kMagnitude:
      return inside("|{}|");
    case Operation::kSquare:
      return Operand(formula_.operands(node)[0], spelling) + "^2";
    case Operation::kSquareRoot:
      return inside("sqrt({})");
    case Operation::kExponential:
      return inside("e^({})");
    case Operation::kLogarithm:
      return inside("ln({})");
    case Operation::kElementWise:
      return FunctionText(node, spelling);
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
