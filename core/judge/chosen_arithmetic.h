// SPDX-License-Identifier: Apache-2.0
// Formulas in which another operand is chosen than the pages say, or integers become others;
// nothing else is rounded.
#pragma once

#include <optional>

#include "core/judge/arithmetic.h"
#include "core/ops/formula.h"

namespace dmlop {

// The kinds nan-passes, starts-at-zero, last-of-equals, saturated and wrapped.
bool Chooses(ArithmeticKind kind);

// An element of an output in such an arithmetic; none if the operator has no formula.
std::optional<ElementBytes> ChosenElement(const ArithmeticVariation& variation,
                                          const OperatorDesc& op, InputViews inputs,
                                          const Region& element);

}  // namespace dmlop
