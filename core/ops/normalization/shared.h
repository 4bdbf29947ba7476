// SPDX-License-Identifier: Apache-2.0
// Shared by the operators that work on slices.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/formula.h"
#include "core/ops/inference.h"

namespace dmlop::normalization {

inline constexpr auto kAxisCount = field::Count("AxisCount").Means(meaning::kAxisCount);
inline constexpr auto kAxes =
    field::Uints("Axes", {.max = kMaxRank - 1, .max_count = kMaxRank, .distinct = true})
        .Means(meaning::kAxes);

inline constexpr auto kEpsilon = field::Float("Epsilon").Means(
    "The number that is added to the variance, so that nothing is divided by 0.");

inline constexpr std::string_view kAxesText = "Axes lie in [0, DimensionCount - 1], each once";

// Requires the rank of the input, and in each dimension its size or 1.
void RequireParameter(std::string_view rank_rule, std::string_view size_rule,
                      const FieldOf<TensorDesc>& parameter, Inference& infer);

void RequireFinite(std::string_view rule, const FieldOf<float>& field, const OperatorDesc& op,
                   Inference& infer);

// Maps to the same place in an input, but to all of it along the axes. An input is repeated along
// dimensions in which its size is 1.
SourceMap SliceOfInput(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes);

// Restricts a map to some outputs; the others do not depend on the input.
SourceMap OfOutputs(std::vector<size_t> outputs, SourceMap source);

// Returns the dimensions along which a parameter with these sizes is repeated.
std::vector<uint32_t> RepeatedDimensions(const Sizes& sizes);

// --- formulas ------------------------------------------------------------------------------------

// The elements of an input that an output element depends on, and the one at the same place.
std::vector<FormulaNode> SliceAt(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes,
                                 const Region& element, Formula& formula);
FormulaNode ElementAt(const OperatorDesc& op, size_t input, const Region& element,
                      Formula& formula);

FormulaNode MeanOf(std::span<const FormulaNode> slice, Formula& formula);

// Returns the mean square of the elements' deviations from the mean, or of the elements without
// one.
FormulaNode VarianceOf(std::span<const FormulaNode> slice, std::optional<FormulaNode> mean,
                       Formula& formula);

// Returns the square root of variance + epsilon.
FormulaNode DeviationOf(FormulaNode variance, double epsilon, Formula& formula);

}  // namespace dmlop::normalization
