// SPDX-License-Identifier: Apache-2.0
// The parts of formulas and signatures of operators that work on slices.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/formula.h"
#include "core/ops/signature.h"

namespace dmlop::normalization {

inline constexpr std::string_view kAxesText = "Axes lie in [0, DimensionCount - 1], each once";

inline constexpr TensorShape kSliced[] = {{&kInputTensor, "{S'..}"}, {&kOutputTensor, "{S..}"}};

void RequireFinite(std::string_view rule, const FieldOf<float>& field, const OperatorDesc& op,
                   Inference& infer);

// Returns the dimensions along which a parameter with these sizes is repeated.
std::vector<uint32_t> RepeatedDimensions(const Sizes& sizes);

// --- formulas ------------------------------------------------------------------------------------

// The elements of an input at the place of an output element, all of them along the axes. An input
// is repeated along dimensions in which its size is 1.
std::vector<FormulaNode> SliceAt(size_t input, std::span<const uint32_t> axes,
                                 const Region& element, Formula& formula);
FormulaNode ElementAt(size_t input, const Region& element, Formula& formula);

FormulaNode MeanOf(std::span<const FormulaNode> slice, Formula& formula);

// Returns the mean square of the elements' deviations from the mean, or of the elements.
FormulaNode VarianceOf(std::span<const FormulaNode> slice, std::optional<FormulaNode> mean,
                       Formula& formula);

// Returns the square root of variance + epsilon.
FormulaNode DeviationOf(FormulaNode variance, double epsilon, Formula& formula);

}  // namespace dmlop::normalization
