// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/formula_numbers.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/explain/formula_value.h"

namespace dmlop::formula_numbers {
namespace {

using Node = FormulaNode;
using Operation = FormulaOperation;

// Takes the sum of the heads, too, which tells infinities and the two zeros apart.
DoubleDouble CheckedSum(double head, DoubleDouble sum) {
  if (!std::isfinite(head)) return {head, 0};
  const double zero = head == 0 ? head : 0.0;
  return sum.head == 0 ? DoubleDouble{zero, 0} : sum;
}

DoubleDouble CheckedDifference(DoubleDouble a, DoubleDouble b) {
  return CheckedSum(a.head - b.head, a - b);
}

FormulaValue AsFormulaValue(DoubleDouble value, bool is_exact) {
  FormulaValue result = Approximately(value);
  if (is_exact && std::isfinite(value.head)) result.exact = Dyadic(value.head) + Dyadic(value.tail);
  return result;
}

DoubleDouble Quotient(DoubleDouble a, DoubleDouble b) {
  const double head = a.head / b.head;
  return std::isfinite(a.head) && std::isfinite(b.head) ? Checked(head, a / b)
                                                        : DoubleDouble{head, 0};
}

// NaN if there is nothing else.
DoubleDouble Extreme(bool is_least, std::span<const Node> nodes, Values values) {
  DoubleDouble extreme{std::numeric_limits<double>::quiet_NaN(), 0};
  for (const Node node : nodes) {
    const DoubleDouble value = values[node];
    if (std::isnan(value.head)) continue;
    const bool is_beyond = is_least ? IsLess(value, extreme) : IsLess(extreme, value);
    if (is_beyond || std::isnan(extreme.head)) extreme = value;
  }
  return extreme;
}

DoubleDouble Other(const Formula& formula, Node node, std::span<const Node> nodes, Values values) {
  const Operation operation = formula.operation(node);
  std::vector<FormulaValue> operands;
  for (const Node operand : nodes) {
    operands.push_back(AsFormulaValue(values[operand], operation == Operation::kWrap));
  }
  if (operation != Operation::kElementWise) {
    return ExactArithmetic::Apply(operation, operands).number;
  }
  return ExactArithmetic::Function(formula.function(node), formula.parameters(node), operands)
      .number;
}

// Integers of 64 bits have more digits than one double.
DoubleDouble ElementValue(const Formula& formula, Node node) {
  const ConstTensorView& view = formula.inputs()[formula.tensor(node)];
  if (IsFloat(view.type) || ByteWidth(view.type) < 8) return {formula.ValueOf(node), 0};
  return ExactArithmetic::Element(view, formula.offset(node)).number;
}

DoubleDouble Leaf(const Formula& formula, Node node) {
  if (formula.operation(node) == Operation::kElement) return ElementValue(formula, node);
  return ExactArithmetic::Number(formula.number(node), formula.exact_number(node)).number;
}

}  // namespace

DoubleDouble Checked(double head, DoubleDouble value) {
  return std::isfinite(head) && head != 0 ? value : DoubleDouble{head, 0};
}

DoubleDouble Sum(std::span<const Node> terms, Values values) {
  double head = -0.0;
  DoubleDouble sum{};
  for (const Node term : terms) {
    head += values[term].head;
    sum = sum + values[term];
  }
  return CheckedSum(head, sum);
}

DoubleDouble Product(std::span<const Node> factors, Values values) {
  constexpr double kMost = 0x1p900;
  DoubleDouble product{1, 0};
  for (const Node factor : factors) {
    const double head = product.head * values[factor].head;
    const double magnitude = std::fabs(head);
    const bool is_far = magnitude > kMost || magnitude < 1 / kMost;
    product = is_far ? DoubleDouble{head, 0} : Checked(head, product * values[factor]);
  }
  return product;
}

DoubleDouble Evaluated(const Formula& formula, Node node, std::span<const Node> operands,
                       Values values) {
  switch (formula.operation(node)) {
    case Operation::kElement:
    case Operation::kNumber:
      return Leaf(formula, node);
    case Operation::kSum:
      return Sum(operands, values);
    case Operation::kMean: {
      const DoubleDouble sum = Sum(operands, values);
      return Checked(sum.head, sum / static_cast<double>(operands.size()));
    }
    case Operation::kProduct:
      return Product(operands, values);
    case Operation::kSquare: {
      const Node factors[] = {operands[0], operands[0]};
      return Product(factors, values);
    }
    case Operation::kWeighted:
      return values[operands[0]].head == 0 ? DoubleDouble{} : Product(operands, values);
    case Operation::kQuotient:
      return Quotient(values[operands[0]], values[operands[1]]);
    case Operation::kMaximum:
    case Operation::kMinimum:
      return Extreme(formula.operation(node) == Operation::kMinimum, operands, values);
    case Operation::kDifference:
      return CheckedDifference(values[operands[0]], values[operands[1]]);
    case Operation::kNegative:
      return -values[operands[0]];
    case Operation::kMagnitude: {
      const DoubleDouble value = values[operands[0]];
      return std::signbit(value.head) ? -value : value;
    }
    default:
      return Other(formula, node, operands, values);
  }
}

DoubleDouble Evaluated(const Formula& formula, Node node, Values values) {
  return Evaluated(formula, node, formula.operands(node), values);
}

DoubleDouble Rounded(const FloatRounding& rounding, DoubleDouble value) {
  const bool is_number = std::isfinite(value.head);
  return {rounding(is_number ? SumRoundedToOdd(value.head, value.tail) : value.head), 0};
}

}  // namespace dmlop::formula_numbers
