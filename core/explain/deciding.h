// SPDX-License-Identifier: Apache-2.0
// Which elements decide a formula's value alone: a NaN, an infinity, the greatest of a list.
#pragma once

#include <string>
#include <vector>

#include "core/explain/calculation.h"
#include "core/explain/formula_steps.h"

namespace dmlop {

struct Decision {
  ValueRule rule;
  std::string reason;                 // a sentence
  std::vector<FormulaNode> deciding;  // elements
};

// Where a NaN or an infinity that a node comes to is from.
Decision DecisionOfSpecial(const Formula& formula, FormulaNode node, FormulaSteps& steps);

// Of a maximum or minimum of a list, or of the place of one.
bool IsExtreme(const Formula& formula, FormulaNode node);
Decision DecisionOfExtreme(const Formula& formula, FormulaNode node, FormulaSteps& steps);

// Of a node that comes to a zero.
Decision DecisionOfZero(const Formula& formula, FormulaNode node, FormulaSteps& steps);

}  // namespace dmlop
