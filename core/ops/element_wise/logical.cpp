// SPDX-License-Identifier: Apache-2.0
// Comparisons and predicates, whose results are 1 or 0, logic, and bit operations.
#include "core/ops/element_wise/row_makers.h"

namespace dmlop::logical {
namespace {

using namespace element_wise;

// --- predicates ----------------------------------------------------------------------------------

// If the output's type is left out, it is `type`: UINT8, or the only one that the level has.
void InferPredicate(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kOtherOutput, DataType::kUint8);
  Infer(op, infer);
}

constexpr auto kPredicateFields = Fields(kInputTensor, kOtherOutput);

constexpr OperatorInfo Predicate(std::string_view name, const ElementWise& family) {
  return OperatorRow(name, {kPredicateFields, "ELW-1", InferPredicate}, family);
}

constexpr std::string_view kInfinityModes[] = {"EITHER", "POSITIVE", "NEGATIVE"};
constexpr auto kInfinityMode =
    field::Enum("InfinityMode", {"DML_IS_INFINITY_MODE_", kInfinityModes});
constexpr auto kIsInfinityFields = Fields(kInputTensor, kOtherOutput, kInfinityMode);

void SetInfinity(const OperatorDesc& op, ElementWiseCall& call) {
  constexpr F kFunctions[] = {F::kIsInfinity, F::kIsPositiveInfinity, F::kIsNegativeInfinity};
  call.function = kFunctions[op[kInfinityMode]];
}

// --- comparisons ---------------------------------------------------------------------------------

constexpr auto kComparisonFields = Fields(kATensor, kBTensor, kOtherOutput);

void InferComparison(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kOtherOutput,
                   infer.level() < Level(2, 0) ? DataType::kUint32 : DataType::kUint8);
  Infer(op, infer);
}

constexpr OperatorInfo Comparison(std::string_view name, const ElementWise& family) {
  return OperatorRow(name, {kComparisonFields, "CMP-1", InferComparison}, family);
}

// --- logic and bits ------------------------------------------------------------------------------

constexpr OperatorInfo kOperators[] = {
    Binary("ELEMENT_WISE_BIT_AND", {F::kBitAnd}),
    Predicate("ELEMENT_WISE_BIT_COUNT", {F::kBitCount}),
    Unary("ELEMENT_WISE_BIT_NOT", {F::kBitNot}),
    Binary("ELEMENT_WISE_BIT_OR", {F::kBitOr}),
    Binary("ELEMENT_WISE_BIT_SHIFT_LEFT", {F::kBitShiftLeft}),
    Binary("ELEMENT_WISE_BIT_SHIFT_RIGHT", {F::kBitShiftRight}),
    Binary("ELEMENT_WISE_BIT_XOR", {F::kBitXor}),
    WithFields(kIsInfinityFields, Predicate("ELEMENT_WISE_IS_INFINITY", {.prepare = SetInfinity})),
    Predicate("ELEMENT_WISE_IS_NAN", {F::kIsNan}),
    Binary("ELEMENT_WISE_LOGICAL_AND", {F::kLogicalAnd}),
    Comparison("ELEMENT_WISE_LOGICAL_EQUALS", {F::kEquals}),
    Comparison("ELEMENT_WISE_LOGICAL_GREATER_THAN", {F::kGreaterThan}),
    Comparison("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", {F::kGreaterThanOrEqual}),
    Comparison("ELEMENT_WISE_LOGICAL_LESS_THAN", {F::kLessThan}),
    Comparison("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", {F::kLessThanOrEqual}),
    Unary("ELEMENT_WISE_LOGICAL_NOT", {F::kLogicalNot}),
    Binary("ELEMENT_WISE_LOGICAL_OR", {F::kLogicalOr}),
    Binary("ELEMENT_WISE_LOGICAL_XOR", {F::kLogicalXor}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::logical
