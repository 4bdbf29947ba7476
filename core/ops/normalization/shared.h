// What operators share that work on slices.
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

// The tensor has as many dimensions as the input, and in each its size or 1.
void RequireParameter(std::string_view rank_rule, std::string_view size_rule,
                      const FieldOf<TensorDesc>& parameter, Inference& infer);

void RequireFinite(std::string_view rule, const FieldOf<float>& field, const OperatorDesc& op,
                   Inference& infer);

// The part of an input that a part of an output is computed from: what is at the same place, but
// all of it along the axes. An input repeats itself where its size is 1.
SourceMap SliceOfInput(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes);

// The same of some outputs; others are computed without the input.
SourceMap OfOutputs(std::vector<size_t> outputs, SourceMap source);

// The dimensions along which a parameter of those sizes repeats itself.
std::vector<uint32_t> RepeatedDimensions(const Sizes& sizes);

// --- formulas ------------------------------------------------------------------------------------

// The elements of an input that an element of an output is computed from, and the one at its place.
std::vector<FormulaNode> SliceAt(const OperatorDesc& op, size_t input, std::vector<uint32_t> axes,
                                 const Region& element, Formula& formula);
FormulaNode ElementAt(const OperatorDesc& op, size_t input, const Region& element,
                      Formula& formula);

FormulaNode MeanOf(std::span<const FormulaNode> slice, Formula& formula);

// The mean of the squares of elements, from the mean if there is one.
FormulaNode VarianceOf(std::span<const FormulaNode> slice, std::optional<FormulaNode> mean,
                       Formula& formula);

// The root of the variance, and what is added to it.
FormulaNode DeviationOf(FormulaNode variance, double epsilon, Formula& formula);

}  // namespace dmlop::normalization
