// SPDX-License-Identifier: Apache-2.0
// The values of nodes of formulas, to about 100 bits.
#pragma once

#include <span>

#include "core/arithmetic/float_format.h"
#include "core/exact/double_double.h"
#include "core/ops/formula.h"

namespace dmlop::formula_numbers {

// Values are numbered by nodes, or by places where nodes are places.
using Values = std::span<const DoubleDouble>;

// The value, or its head if that is beyond the range of both parts.
DoubleDouble Checked(double head, DoubleDouble value);

DoubleDouble Sum(std::span<const FormulaNode> terms, Values values);
DoubleDouble Product(std::span<const FormulaNode> factors, Values values);

// The value of a node whose operands have these values, or of one with other operands.
DoubleDouble Evaluated(const Formula& formula, FormulaNode node, Values values);
DoubleDouble Evaluated(const Formula& formula, FormulaNode node,
                       std::span<const FormulaNode> operands, Values values);

DoubleDouble Rounded(const FloatRounding& rounding, DoubleDouble value);

// --- kinds of nodes ------------------------------------------------------------------------------

constexpr bool IsLeaf(FormulaOperation operation) {
  return operation == FormulaOperation::kElement || operation == FormulaOperation::kNumber;
}

// Returns whether a node is a number, though it is computed: devices have it as a constant.
inline bool IsRootOfNumber(const Formula& formula, FormulaNode node) {
  return formula.operation(node) == FormulaOperation::kSquareRoot &&
         formula.operation(formula.operands(node)[0]) == FormulaOperation::kNumber;
}

inline bool IsSumOfList(const Formula& formula, FormulaNode node) {
  const FormulaOperation operation = formula.operation(node);
  return (operation == FormulaOperation::kSum || operation == FormulaOperation::kMean) &&
         formula.HasList(node);
}

}  // namespace dmlop::formula_numbers
