// SPDX-License-Identifier: Apache-2.0
// Elements of outputs in other arithmetics than the exact one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/judge/arithmetic.h"

namespace dmlop {

// The variations that can make a difference to an output, the simplest first.
std::vector<ArithmeticVariation> ArithmeticVariationsOf(const OperatorDesc& op, InputViews inputs,
                                                        size_t output);

// Whether an operator is element-wise and has nothing but operations that any device rounds alike,
// such as sums and products: no exponentials and the like.
bool IsChainOfExactSteps(const OperatorDesc& op, InputViews inputs, size_t output);

// The work of an element's formula, about that of so many additions of many digits.
int64_t FormulaWork(const OperatorDesc& op, InputViews inputs, size_t output);

// Whether variations of a kind leave a fused activation as it is.
bool IsOfOwnResult(ArithmeticKind kind);

// Computes the elements of an output with these row-major numbers in each of the arithmetics, in
// the output's type. What a variation does not change is exact. Many variations of the same
// elements take much less time together than one by one, as formulas are made once.
std::vector<std::vector<ElementBytes>> ComputeVaried(
    const OperatorDesc& op, InputViews inputs, std::span<const ArithmeticVariation> variations,
    size_t output, std::span<const int64_t> elements);

std::vector<ElementBytes> ComputeVaried(const OperatorDesc& op, InputViews inputs,
                                        const ArithmeticVariation& variation, size_t output,
                                        std::span<const int64_t> elements);

}  // namespace dmlop
