// Scales and zero points of matrices and filters (QSH-1, QSH-2), and where matrices lie.
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

// What the values of a parameter are for.
enum class Along : uint8_t { kNothing, kRows, kColumns, kChannels };

// A parameter that is there has sizes for so many values.
void CheckParameter(const OperatorDesc& op, const FieldOf<TensorDesc>& field, Along along,
                    uint32_t count, Inference& infer);

// All tensors that are there have as many dimensions as the first of them.
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

// The sizes of the product of A {.., M, K} and B {.., K, N}: {.., M, N}, or {.., M, 0} after
// reporting that B does not fit. Empty where they are no matrices of one rank.
std::optional<Sizes> ProductSizes(std::string_view code, const OperatorDesc& op,
                                  const FieldOf<TensorDesc>& a, const FieldOf<TensorDesc>& b,
                                  Inference& infer);

// --- values --------------------------------------------------------------------------------------

// The integers of a zero point or bias in row-major order; none where it is left out.
std::vector<int64_t> IntegersOf(const OperatorDesc& op, InputViews inputs, const Field& field);
// The real numbers of scales.
std::vector<double> NumbersOf(const OperatorDesc& op, InputViews inputs, const Field& field);

// The value for an index, of as many or of the only one.
template <typename T>
T ValueAt(const std::vector<T>& values, int64_t index) {
  return values[values.size() == 1 ? 0 : static_cast<size_t>(index)];
}

// --- sources -------------------------------------------------------------------------------------

// Adds the map of a parameter that is there; its values are for a dimension of the output.
void AddParameter(const OperatorDesc& op, const Field& field, size_t output_dim,
                  std::vector<SourceMap>& maps);

// Rows of A, columns of B.
SourceMap RowsOfA(const OperatorDesc& op, const FieldOf<TensorDesc>& a);
SourceMap ColumnsOfB(const OperatorDesc& op, const FieldOf<TensorDesc>& b);

// --- formulas ------------------------------------------------------------------------------------

// The element of a parameter that is there, for an index of a dimension of the output.
std::optional<FormulaNode> ParameterOf(const OperatorDesc& op, const Field& field,
                                       size_t output_dim, const Region& element, Formula& formula);

// What stands for 0 in both factors of products; nothing for 0 itself.
struct ZeroPoints {
  std::optional<FormulaNode> first, second;
};

// The sum of the products of what pairs of sources have for an element of the output.
FormulaNode SumOfProducts(std::span<const SourceMap> pairs, const Region& element,
                          const ZeroPoints& zeros, Formula& formula);

// An integer of the output: a sum in units of the product of two scales, in units of a third one.
struct Units {
  FormulaNode a, b, output;
  std::optional<FormulaNode> zero_point;
};
FormulaNode InUnits(FormulaNode sum, const Units& units, DataType type, Formula& formula);

}  // namespace dmlop::contraction
