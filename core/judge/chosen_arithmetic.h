// SPDX-License-Identifier: Apache-2.0
// Formulas in which another operand is chosen than the pages say, or integers become others;
// nothing else is rounded.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/judge/arithmetic.h"
#include "core/ops/formula.h"

namespace dmlop {

// The kinds nan-passes, starts-at-zero, last-of-equals, saturated and wrapped.
bool Chooses(ArithmeticKind kind);

// Elements of a type in such an arithmetic. Each ends with one of these nodes of a formula.
std::vector<ElementBytes> ChosenElements(const ArithmeticVariation& variation,
                                         const Formula& formula, std::span<const FormulaNode> ends,
                                         DataType type);

// An element of an output that has the places of the maxima in the first one: that of the last of
// the greatest elements; none if the first output has no maxima.
std::optional<ElementBytes> LastPlaceOfMaximum(const OperatorDesc& op, InputViews inputs,
                                               const Region& element);

}  // namespace dmlop
