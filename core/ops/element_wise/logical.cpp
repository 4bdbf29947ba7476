// SPDX-License-Identifier: Apache-2.0
// Comparisons and predicates, whose results are 1 or 0, logic, and bit operations.
#include "core/ops/element_wise/shared.h"

namespace dmlop::logical {
namespace {

using namespace element_wise;

// --- predicates ----------------------------------------------------------------------------------

// If the output's type is left out, it is `type`: UINT8, or the only one that the level has.
void InferPredicate(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kOtherOutput, DataType::kUint8);
  Infer(op, infer);
}

constexpr const Field* kPredicateFields[] = {&kInputTensor, &kOtherOutput};

constexpr OperatorInfo Predicate(std::string_view name, std::span<const SupportTable> support,
                                 const ElementWise& family) {
  return OperatorRow(name, {kPredicateFields, support, "ELW-1", InferPredicate}, family);
}

constexpr SupportRow kIsNanRows[] = {
    {Level(2, 0), 4, 4, {kFloats, kTruth}},
    {Level(3, 0), 1, 8, {kFloats, kTruth}},
};
constexpr SupportRow kIsInfinityRows[] = {
    {Level(2, 1), 4, 4, {kFloats, DataTypes{DataType::kUint8}}},
    {Level(3, 0), 1, 8, {kFloats, DataTypes{DataType::kUint8}}},
};
constexpr SupportRow kBitCountRows[] = {
    {Level(3, 0), 1, 8, {kUnsignedTo32, kTruth}},
    {Level(4, 1), 1, 8, {types::kAll, kTruth}},
};

constexpr std::string_view kInfinityModes[] = {"EITHER", "POSITIVE", "NEGATIVE"};
constexpr auto kInfinityMode =
    field::Enum("InfinityMode", {"DML_IS_INFINITY_MODE_", kInfinityModes});
constexpr const Field* kIsInfinityFields[] = {&kInputTensor, &kOtherOutput, &kInfinityMode};

void SetInfinity(const OperatorDesc& op, ElementWiseCall& call) {
  constexpr F kFunctions[] = {F::kIsInfinity, F::kIsPositiveInfinity, F::kIsNegativeInfinity};
  call.function = kFunctions[op[kInfinityMode]];
}

// --- comparisons ---------------------------------------------------------------------------------

constexpr const Field* kComparisonFields[] = {&kATensor, &kBTensor, &kOtherOutput};

void InferComparison(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kOtherOutput,
                   infer.level() < Level(2, 0) ? DataType::kUint32 : DataType::kUint8);
  Infer(op, infer);
}

constexpr SupportRow kEqualsRows[] = {
    {Level(1, 0), 4, 4, {kFloats, DataTypes{DataType::kUint32}}},
    {Level(2, 0), 4, 4, {kFloats, kTruth}},
    {Level(2, 1), 4, 4, {types::kUpTo32, kTruth}},
    {Level(3, 0), 1, 8, {types::kUpTo32, kTruth}},
    {Level(4, 1), 1, 8, {kUpTo64, kTruth}},
};
constexpr SupportRow kOrEqualRows[] = {
    {Level(3, 0), 1, 8, {types::kUpTo32, kTruth}},
    {Level(4, 1), 1, 8, {kUpTo64, kTruth}},
};

constexpr OperatorInfo Comparison(std::string_view name, std::span<const SupportTable> support,
                                  const ElementWise& family) {
  return OperatorRow(name, {kComparisonFields, support, "CMP-1", InferComparison}, family);
}

// --- logic and bits ------------------------------------------------------------------------------

constexpr SupportRow kLogicRows[] = {
    {Level(1, 0), 4, 4, {DataTypes{DataType::kUint32}}},
    {Level(2, 0), 4, 4, {kTruth}},
    {Level(3, 0), 1, 8, {kTruth}},
};
constexpr SupportRow kBitRows[] = {
    {Level(3, 0), 1, 8, {kUnsignedTo32}},
    {Level(4, 1), 1, 8, {types::kAll}},
};
constexpr SupportRow kShiftRows[] = {
    {Level(2, 1), 4, 4, {kUnsignedTo32}},
    {Level(3, 0), 1, 8, {kUnsignedTo32}},
    {Level(4, 1), 1, 8, {kUnsignedTo32 | DataTypes{DataType::kUint64}}},
};

constexpr OperatorInfo kOperators[] = {
    Binary("ELEMENT_WISE_BIT_AND", kSupportBy<kBitRows>, {F::kBitAnd}),
    Predicate("ELEMENT_WISE_BIT_COUNT", kSupportBy<kBitCountRows>, {F::kBitCount}),
    Unary("ELEMENT_WISE_BIT_NOT", kSupportBy<kBitRows>, {F::kBitNot}),
    Binary("ELEMENT_WISE_BIT_OR", kSupportBy<kBitRows>, {F::kBitOr}),
    Binary("ELEMENT_WISE_BIT_SHIFT_LEFT", kSupportBy<kShiftRows>, {F::kBitShiftLeft}),
    Binary("ELEMENT_WISE_BIT_SHIFT_RIGHT", kSupportBy<kShiftRows>, {F::kBitShiftRight}),
    Binary("ELEMENT_WISE_BIT_XOR", kSupportBy<kBitRows>, {F::kBitXor}),
    WithFields(kIsInfinityFields, Predicate("ELEMENT_WISE_IS_INFINITY", kSupportBy<kIsInfinityRows>,
                                            {.prepare = SetInfinity})),
    Predicate("ELEMENT_WISE_IS_NAN", kSupportBy<kIsNanRows>, {F::kIsNan}),
    Binary("ELEMENT_WISE_LOGICAL_AND", kSupportBy<kLogicRows>, {F::kLogicalAnd}),
    Comparison("ELEMENT_WISE_LOGICAL_EQUALS", kSupportBy<kEqualsRows>, {F::kEquals}),
    Comparison("ELEMENT_WISE_LOGICAL_GREATER_THAN", kSupportBy<kEqualsRows>, {F::kGreaterThan}),
    Comparison("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", kSupportBy<kOrEqualRows>,
               {F::kGreaterThanOrEqual}),
    Comparison("ELEMENT_WISE_LOGICAL_LESS_THAN", kSupportBy<kEqualsRows>, {F::kLessThan}),
    Comparison("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", kSupportBy<kOrEqualRows>,
               {F::kLessThanOrEqual}),
    Unary("ELEMENT_WISE_LOGICAL_NOT", kSupportBy<kLogicRows>, {F::kLogicalNot}),
    Binary("ELEMENT_WISE_LOGICAL_OR", kSupportBy<kLogicRows>, {F::kLogicalOr}),
    Binary("ELEMENT_WISE_LOGICAL_XOR", kSupportBy<kLogicRows>, {F::kLogicalXor}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::logical
