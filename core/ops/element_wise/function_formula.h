// SPDX-License-Identifier: Apache-2.0
// The formulas of element-wise functions, in the steps that their pages state.
#pragma once

#include <optional>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "core/ops/formula.h"

namespace dmlop::element_wise {

// The operands of a function.
struct FormulaOperands {
  Formula& formula;
  const ElementWiseCall& call;
  std::vector<FormulaNode> elements;
  DataType to;  // of the result
};

// An exact value becomes an integer element in one of these ways.
enum class ToInteger : uint8_t { kIsWhole, kIsConfined, kWraps, kIsTruncated, kIsClamped };

// Before it becomes an integer, or is rounded.
struct FunctionValue {
  FormulaNode node;
  ToInteger to_integer;
};

// Returns nothing for a function that only compares, chooses or moves bits.
std::optional<FunctionValue> ValueOf(const FormulaOperands& operands);

// The value, but of integers that are divided by 0, one of which every bit is 1.
FormulaNode UnlessZero(FormulaNode divisor, FormulaNode value, const FormulaOperands& operands);

// x - zero_point, or x where that is the number 0.
FormulaNode FromZeroPoint(FormulaNode x, FormulaNode zero_point, Formula& formula);

// x / scale as a FLOAT32, rounded to a whole number, and the zero point; clamped to the type.
FormulaNode Quantized(FormulaNode x, FormulaNode scale, FormulaNode zero_point, DataType type,
                      Formula& formula);

}  // namespace dmlop::element_wise
