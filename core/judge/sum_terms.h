// SPDX-License-Identifier: Apache-2.0
// The terms of a sum in the order in which a device takes them. Formulas of convolutions go from
// tap to tap, and leave padding out; filters have a place for each term.
#pragma once

#include <vector>

#include "core/judge/arithmetic.h"
#include "core/judge/element_formula.h"

namespace dmlop {

// Whether sums of an operator have terms in an order that may differ from that of its formula.
bool HasTermOrder(const OperatorDesc& op, TermOrder order);

// The terms of a sum that are not rounded, with the addend before them where sums begin with it.
// `sums` is of kind kSums.
std::vector<double> OrderedTerms(const OperatorDesc& op, const ElementFormula& formula,
                                 FormulaNode sum, const ArithmeticVariation& sums);

}  // namespace dmlop
