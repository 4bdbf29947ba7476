// SPDX-License-Identifier: Apache-2.0
// Scales and zero points of matrices and filters (QSH-1, QSH-2), and sizes of products.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ops/formula.h"
#include "core/ops/inference.h"

namespace dmlop::contraction {

// --- rules ---------------------------------------------------------------------------------------

inline constexpr Rule kParameterSizes = {
    "QSH-1",
    "a scale or zero point is one value, or one for each row of A and of the output, each column "
    "of B, each output channel of a filter"};
inline constexpr Rule kZeroPointTypes = {"QSH-2", "a zero point has the DataType of its tensor"};

// The dimension for whose indices a parameter has values.
enum class Along : uint8_t { kNothing, kRows, kColumns, kChannels };

// Requires the sizes of a parameter, if it is there, to fit `count` values or one.
void CheckParameter(const OperatorDesc& op, const FieldOf<TensorDesc>& field, Along along,
                    uint32_t count, Inference& infer);

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

// Returns the sizes {.., M, N} of the product of A {.., M, K} and B {.., K, N}. If B does not fit,
// reports that and returns {.., M, 0}; empty if they are not matrices of the same rank.
std::optional<Sizes> ProductSizes(std::string_view code, const OperatorDesc& op,
                                  const FieldOf<TensorDesc>& a, const FieldOf<TensorDesc>& b,
                                  Inference& infer);

// --- values --------------------------------------------------------------------------------------

// Returns the integers of a zero point or bias in row-major order; none if it is left out.
std::vector<int64_t> IntegersOf(const OperatorDesc& op, InputViews inputs, const Field& field);
// Returns the real numbers of scales.
std::vector<double> NumbersOf(const OperatorDesc& op, InputViews inputs, const Field& field);

// Returns the value for an index; a single value holds for every index.
template <typename T>
T ValueAt(const std::vector<T>& values, int64_t index) {
  return values[values.size() == 1 ? 0 : static_cast<size_t>(index)];
}

// --- sources -------------------------------------------------------------------------------------

// Adds the map of a parameter if it is there. Its values belong to a dimension of the output.
void AddParameter(const OperatorDesc& op, const Field& field, size_t output_dim,
                  std::vector<SourceMap>& maps);

// Map to rows of A and to columns of B.
SourceMap RowsOfA(const OperatorDesc& op, const FieldOf<TensorDesc>& a);
SourceMap ColumnsOfB(const OperatorDesc& op, const FieldOf<TensorDesc>& b);

// --- formulas ------------------------------------------------------------------------------------

// Returns the element of a parameter for an index of the output's dimension; none if left out.
std::optional<FormulaNode> ParameterOf(const OperatorDesc& op, const Field& field,
                                       size_t output_dim, const Region& element, Formula& formula);

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

}  // namespace dmlop::contraction
