// SPDX-License-Identifier: Apache-2.0
// Operators that fill an output.
#include <algorithm>
#include <optional>

#include "core/ops/inference.h"
#include "core/tensor/element.h"

namespace dmlop::fill {
namespace {

// --- FILL_VALUE_CONSTANT -------------------------------------------------------------------------

// DML_FILL_VALUE_CONSTANT_OPERATOR_DESC: fills a tensor with one value.

constexpr auto kValue = field::ScalarOf("Value");
constexpr auto kConstantFields = Fields(kOutputTensor, kValueDataType, kValue);

// The output's sizes follow from nothing else.
void InferConstant(const OperatorDesc&, Inference&) {}

std::optional<ElementBytes> Value(const OperatorDesc& op) {
  return op[kValue].bytes;
}

// --- DIAGONAL_MATRIX -----------------------------------------------------------------------------

// DML_DIAGONAL_MATRIX_OPERATOR_DESC: matrices with a value along one diagonal and zeros elsewhere.
// DML_DIAGONAL_MATRIX1_OPERATOR_DESC: writes a value along some diagonals, or along all others, of
// zeros or of a tensor's elements.

constexpr auto kOffset = field::Int("Offset");
constexpr auto kFloatValue = field::Float("Value");
constexpr auto kMatrixFields = Fields(kOutputTensor, kOffset, kFloatValue);

constexpr auto kOptionalInput = field::Optional(kInputTensor);
constexpr auto kMatrixDataType = field::TypeOf("ValueDataType", "VAL-2");
constexpr auto kTypedValue = field::ScalarOf("Value");
constexpr auto kBegin = field::Int("DiagonalFillBegin");
constexpr auto kEnd = field::Int("DiagonalFillEnd");
constexpr auto kMatrix1Fields =
    Fields(kOptionalInput, kOutputTensor, kMatrixDataType, kTypedValue, kBegin, kEnd);

void RequireMatrix(const OperatorDesc& op, Inference& infer) {
  if (!op[kOutputTensor].sizes) return;
  const TensorAt output = infer.tensor(kOutputTensor);
  infer.Require(output.sizes().size() != 1, "DIA-1", SizesOf(output),
                "Sizes are {}; expected at least 2 dimensions", ToString(output.sizes()));
}

std::optional<ElementBytes> Zero(const OperatorDesc&) {
  return ElementBytes{};
}

DiagonalBand OneDiagonal(const OperatorDesc& op) {
  const int64_t offset = op[kOffset];
  return {offset, offset + 1, false, ConvertElement(op[kFloatValue], *op[kOutputTensor].data_type)};
}

// --- DIAGONAL_MATRIX1 ----------------------------------------------------------------------------

void Infer1(const OperatorDesc& op, Inference& infer) {
  if (op.Has(kOptionalInput)) infer.Output("DIA-3", kOutputTensor, op.sizes(kOptionalInput));
  RequireMatrix(op, infer);
}

std::optional<ElementBytes> ZeroWithoutInput(const OperatorDesc& op) {
  return op.Has(kOptionalInput) ? std::nullopt : Zero(op);
}

std::vector<TensorMove> Copy(const OperatorDesc&, InputViews inputs, OutputViews outputs) {
  if (inputs.empty()) return {};
  return {{0, inputs[0], 0, outputs[0]}};
}

// If the end precedes the beginning, the band is all diagonals except those from the end up to, but
// without, the beginning.
DiagonalBand SomeDiagonals(const OperatorDesc& op) {
  const auto [begin, end] = std::minmax(op[kBegin], op[kEnd]);
  return {begin, end, op[kBegin] > op[kEnd], op[kTypedValue].bytes};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("FILL_VALUE_CONSTANT", {kConstantFields, "ELW-4", InferConstant},
                Movement{.moves = nullptr, .fill = Value}),
    OperatorRow("DIAGONAL_MATRIX", {kMatrixFields, "DIA-1", RequireMatrix},
                Movement{.moves = nullptr, .fill = Zero, .band = OneDiagonal}),
    OperatorRow("DIAGONAL_MATRIX1", {kMatrix1Fields, "MOV-1", Infer1},
                Movement{.moves = Copy, .fill = ZeroWithoutInput, .band = SomeDiagonals}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::fill
