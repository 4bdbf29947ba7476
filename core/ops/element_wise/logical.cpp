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
constexpr Rule kPredicateRules[] = {kSameSizes};

constexpr OperatorInfo Predicate(std::string_view name, std::string_view summary,
                                 std::span<const SupportTable> support, const ElementWise& family) {
  return OperatorRow(name, summary,
                     {kPredicateFields, support, "ELW-1", kPredicateRules, InferPredicate}, family);
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
    field::Enum("InfinityMode", {"DML_IS_INFINITY_MODE_", kInfinityModes})
        .Means("Which infinities count: both, the positive or the negative one.");
constexpr const Field* kIsInfinityFields[] = {&kInputTensor, &kOtherOutput, &kInfinityMode};

void SetInfinity(const OperatorDesc& op, ElementWiseCall& call) {
  constexpr F kFunctions[] = {F::kIsInfinity, F::kIsPositiveInfinity, F::kIsNegativeInfinity};
  call.function = kFunctions[op[kInfinityMode]];
}

// --- comparisons ---------------------------------------------------------------------------------

constexpr const Field* kComparisonFields[] = {&kATensor, &kBTensor, &kOtherOutput};
constexpr Rule kComparisonRules[] = {
    kSameSizes,
    {"CMP-1", "A and B agree in DataType"},
};

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

constexpr OperatorInfo Comparison(std::string_view name, std::string_view summary,
                                  std::span<const SupportTable> support,
                                  const ElementWise& family) {
  return OperatorRow(name, summary,
                     {kComparisonFields, support, "CMP-1", kComparisonRules, InferComparison},
                     family);
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
    Binary("ELEMENT_WISE_BIT_AND", "the bits that a and b both have", kSupportBy<kBitRows>,
           {F::kBitAnd}),
    Predicate("ELEMENT_WISE_BIT_COUNT", "how many bits of each element are one",
              kSupportBy<kBitCountRows>, {F::kBitCount}),
    Unary("ELEMENT_WISE_BIT_NOT", "every bit inverted", kSupportBy<kBitRows>, {F::kBitNot}),
    Binary("ELEMENT_WISE_BIT_OR", "the bits that a or b has", kSupportBy<kBitRows>, {F::kBitOr}),
    Binary("ELEMENT_WISE_BIT_SHIFT_LEFT",
           "a * 2^c modulo 2^width; c is b modulo 32 (64 for UINT64)", kSupportBy<kShiftRows>,
           {F::kBitShiftLeft}),
    Binary("ELEMENT_WISE_BIT_SHIFT_RIGHT",
           "a / 2^c, rounded down; c is b modulo 32 (64 for UINT64)", kSupportBy<kShiftRows>,
           {F::kBitShiftRight}),
    Binary("ELEMENT_WISE_BIT_XOR", "the bits that just one of a and b has", kSupportBy<kBitRows>,
           {F::kBitXor}),
    WithFields(kIsInfinityFields,
               Predicate("ELEMENT_WISE_IS_INFINITY", "1 where an element is infinite",
                         kSupportBy<kIsInfinityRows>, {.prepare = SetInfinity})),
    Predicate("ELEMENT_WISE_IS_NAN", "1 where an element is NaN", kSupportBy<kIsNanRows>,
              {F::kIsNan}),
    Binary("ELEMENT_WISE_LOGICAL_AND", "1 where neither a nor b is 0", kSupportBy<kLogicRows>,
           {F::kLogicalAnd}),
    Comparison("ELEMENT_WISE_LOGICAL_EQUALS", "1 where a = b", kSupportBy<kEqualsRows>,
               {F::kEquals}),
    Comparison("ELEMENT_WISE_LOGICAL_GREATER_THAN", "1 where a > b", kSupportBy<kEqualsRows>,
               {F::kGreaterThan}),
    Comparison("ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", "1 where a >= b",
               kSupportBy<kOrEqualRows>, {F::kGreaterThanOrEqual}),
    Comparison("ELEMENT_WISE_LOGICAL_LESS_THAN", "1 where a < b", kSupportBy<kEqualsRows>,
               {F::kLessThan}),
    Comparison("ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", "1 where a <= b",
               kSupportBy<kOrEqualRows>, {F::kLessThanOrEqual}),
    Unary("ELEMENT_WISE_LOGICAL_NOT", "1 where an element is 0", kSupportBy<kLogicRows>,
          {F::kLogicalNot}),
    Binary("ELEMENT_WISE_LOGICAL_OR", "1 where a or b is not 0", kSupportBy<kLogicRows>,
           {F::kLogicalOr}),
    Binary("ELEMENT_WISE_LOGICAL_XOR", "1 where just one of a and b is 0", kSupportBy<kLogicRows>,
           {F::kLogicalXor}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::logical
