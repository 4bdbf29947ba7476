// SPDX-License-Identifier: Apache-2.0
// Operations that lead to whole numbers.
#pragma once

#include <optional>
#include <span>

#include "core/exact/functions.h"
#include "core/explain/formula_value.h"

namespace dmlop {

// As kRound and the like of FormulaOperation.
FormulaValue Round(const FormulaValue& x);
FormulaValue Truncate(const FormulaValue& x);
FormulaValue WholeQuotient(bool floors, const FormulaValue& a, const FormulaValue& b);
FormulaValue Clamp(const FormulaValue& x, const FormulaValue& least, const FormulaValue& greatest);
// NaN of a number whose digits were dropped.
FormulaValue Wrap(const FormulaValue& x, const FormulaValue& least, const FormulaValue& greatest);

// Evaluates functions that round floats to whole numbers or take a remainder; none for others.
std::optional<FormulaValue> WholeFunction(ElementWiseFunction function,
                                          std::span<const FormulaValue> x);

}  // namespace dmlop
