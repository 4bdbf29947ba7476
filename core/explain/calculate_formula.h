// SPDX-License-Identifier: Apache-2.0
// The calculation of what has a formula.
#pragma once

#include "core/explain/calculation.h"
#include "core/ops/formula.h"

namespace dmlop {

// `type` is that of the result, which the last node of the formula leads to.
Calculation ExplainFormula(const Formula& formula, Formula::Node last,
                           std::vector<std::string> inputs, DataType type,
                           const ElementBytes& result, ListLength length);

}  // namespace dmlop
