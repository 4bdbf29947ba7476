// SPDX-License-Identifier: Apache-2.0
// Arithmetic with two inputs, A and B.
#include "core/ops/element_wise/shared.h"

namespace dmlop::binary {
namespace {

using namespace element_wise;

constexpr DataTypes kFloatsAnd32 = kFloats | types::kInt32s;

// --- sums, differences, products -----------------------------------------------------------------

constexpr SupportRow kAddRows[] = {
    {Level(1, 0), 4, 5, {kFloats}},      {Level(2, 1), 4, 5, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}}, {Level(4, 1), 1, 8, {kFloatsAnd32 | types::kInt64s}},
    {Level(5, 1), 1, 8, {kUpTo64}},
};
constexpr SupportRow kSubtractRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},      {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}}, {Level(4, 1), 1, 8, {kFloatsAnd32 | types::kInt64s}},
    {Level(5, 1), 1, 8, {kUpTo64}},
};
constexpr SupportRow kMeanRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}},
};
constexpr SupportRow kDifferenceSquareRows[] = {{Level(3, 1), 1, 8, {kFloatsAnd32}}};

// --- ADD1 ----------------------------------------------------------------------------------------

constexpr SupportRow kAdd1Rows[] = {
    {Level(2, 0), 4, 5, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
constexpr const Field* kAdd1Fields[] = {&kATensor, &kBTensor, &kOutputTensor, &kFusedActivation};

// --- quotients and remainders --------------------------------------------------------------------

constexpr SupportRow kDivideRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},      {Level(2, 1), 4, 4, {kFloatsAnd32}},
    {Level(3, 0), 1, 8, {kFloatsAnd32}}, {Level(5, 1), 1, 8, {types::kUpTo32}},
    {Level(6, 0), 1, 8, {kUpTo64}},
};
constexpr SupportRow kModulusRows[] = {
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(6, 0), 1, 8, {kUpTo64}},
};

// --- the larger and the smaller ------------------------------------------------------------------

constexpr SupportRow kMaxRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};

constexpr OperatorInfo kOperators[] = {
    Tolerating<1>(Binary("ELEMENT_WISE_ADD", kSupportBy<kAddRows>, {F::kAdd})),
    WithFields(kAdd1Fields,
               Tolerating<1>(Binary("ELEMENT_WISE_ADD1", kSupportBy<kAdd1Rows>, {F::kAdd}))),
    Binary("ELEMENT_WISE_DIFFERENCE_SQUARE", kSupportBy<kDifferenceSquareRows>,
           {F::kDifferenceSquare}),
    Tolerating<2>(Binary("ELEMENT_WISE_DIVIDE", kSupportBy<kDivideRows>, {F::kDivide})),
    Binary("ELEMENT_WISE_MAX", kSupportBy<kMaxRows>, {F::kMax}),
    Binary("ELEMENT_WISE_MEAN", kSupportBy<kMeanRows>, {F::kMean}),
    Binary("ELEMENT_WISE_MIN", kSupportBy<kMaxRows>, {F::kMin}),
    Binary("ELEMENT_WISE_MODULUS_FLOOR", kSupportBy<kModulusRows>, {F::kModulusFloor}),
    Binary("ELEMENT_WISE_MODULUS_TRUNCATE", kSupportBy<kModulusRows>, {F::kModulusTruncate}),
    Tolerating<1>(Binary("ELEMENT_WISE_MULTIPLY", kSupportBy<kAddRows>, {F::kMultiply})),
    Tolerating<1>(Binary("ELEMENT_WISE_SUBTRACT", kSupportBy<kSubtractRows>, {F::kSubtract})),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::binary
