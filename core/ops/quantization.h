// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of tensors of integers, and sums of products without them (QSH-1, QSH-2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ops/formula.h"
#include "core/ops/signature.h"

namespace dmlop::quantization {

// --- rules ---------------------------------------------------------------------------------------

// The shapes of parameters of all elements, of rows {.., M} and columns {.., N} of matrices, and of
// output channels of filters.
inline constexpr std::string_view kOfAll = "{1..}";
inline constexpr std::string_view kOfRows = "{1..} | {M} | {1.., M, 1}";
inline constexpr std::string_view kOfColumns = "{1..} | {1.., N}";
inline constexpr std::string_view kOfChannels =
    "{1..} | {1, G*o, 1..} | {G*o} | {G*o, 1} | {G*o, 1, 1}";

constexpr TensorShape Parameter(const FieldOf<TensorDesc>& field, std::string_view dims) {
  return {&field, dims, nullptr, "QSH-1"};
}

// Requires all tensors that are there to have the rank of the first one.
template <size_t kCount>
void RequireOneRank(std::string_view code, const OperatorDesc& op,
                    const std::array<const FieldOf<TensorDesc>*, kCount>& fields,
                    Inference& infer) {
  const FieldOf<TensorDesc>* first = nullptr;
  for (const FieldOf<TensorDesc>* field : fields) {
    if (!op.Has(*field)) continue;
    if (first == nullptr) first = field;
    infer.RequireSameRank(code, infer.tensor(*field), infer.tensor(*first));
  }
}

// --- values --------------------------------------------------------------------------------------

// Returns the integers of a zero point or bias in row-major order; none if it is left out.
std::vector<int64_t> IntegersOf(const ConstTensorView& view);
// Likewise as real numbers, those of scales, too.
std::vector<double> NumbersOf(const ConstTensorView& view);

// Returns the value for an index; a single value holds for every index.
template <typename T>
T ValueAt(const std::vector<T>& values, int64_t index) {
  return values[values.size() == 1 ? 0 : static_cast<size_t>(index)];
}

// --- formulas ------------------------------------------------------------------------------------

// Returns the element of a parameter for an element of the output; none if it is left out.
std::optional<FormulaNode> ParameterOf(const Signature& signature, const OperatorDesc& op,
                                       const Field& field, const Region& element, Formula& formula);

// The zero points of both factors; none stands for 0.
struct ZeroPoints {
  std::optional<FormulaNode> first, second;
};

// Returns the sum of the products of the elements that pairs of sources have for an output element.
FormulaNode SumOfProducts(std::span<const SourceMap> pairs, const Region& element,
                          const ZeroPoints& zeros, Formula& formula);

// Scales for an output integer: the sum is in units of a * b, the result in units of `output`.
struct Units {
  FormulaNode a, b, output;
  std::optional<FormulaNode> zero_point;
};
FormulaNode InUnits(FormulaNode sum, const Units& units, DataType type, Formula& formula);

}  // namespace dmlop::quantization
