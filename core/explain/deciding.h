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

// Tells which elements make a node NaN or infinite.
Decision DecisionOfSpecial(const Formula& formula, FormulaNode node, FormulaSteps& steps);

// Tells which element a maximum or minimum of a list, or the place of one, takes.
bool IsExtreme(const Formula& formula, FormulaNode node);
Decision DecisionOfExtreme(const Formula& formula, FormulaNode node, FormulaSteps& steps);

// Tells which elements decide the sign of a node that is zero.
Decision DecisionOfZero(const Formula& formula, FormulaNode node, FormulaSteps& steps);

}  // namespace dmlop
