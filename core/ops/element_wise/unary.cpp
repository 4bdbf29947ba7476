// SPDX-License-Identifier: Apache-2.0
// Operators with one input.
#include "core/ops/element_wise/shared.h"

namespace dmlop::unary {
namespace {

using namespace element_wise;

// --- ELEMENT_WISE_IDENTITY -----------------------------------------------------------------------

constexpr SupportRow kIdentityRows[] = {
    {Level(1, 0), 4, 5, {kFloats}},
    {Level(2, 1), 4, 5, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {types::kAll}},
};

void InferIdentity(const OperatorDesc& op, Inference& infer) {
  InferSameSizes("ID-1", op, kInputTensor, infer);
  RequireScalable("ID-6", op, infer);
}

// Hardware may multiply and add with one rounding or with two (ID-8).
Tolerance IdentityTolerance(const OperatorDesc& op) {
  return op.Has(kScaleBias) ? Ulp<2>(op) : Tolerance{};
}

// --- functions of numbers ------------------------------------------------------------------------

constexpr SupportRow kFloatRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
constexpr SupportRow kRoundRows[] = {
    {Level(2, 1), 4, 4, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
constexpr SupportRow kAbsRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {kFloats | kSignedTo32}},
    {Level(3, 0), 1, 8, {kFloats | kSignedTo32}},
    {Level(4, 1), 1, 8, {kFloats | kSigned}},
};
constexpr SupportRow kSignRows[] = {
    {Level(2, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {kUpTo64}},
};
constexpr SupportRow kNegateRows[] = {{Level(5, 0), 1, 8, {kFloats | kSigned}}};

constexpr std::string_view kRoundingModes[] = {"HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO",
                                               "TOWARD_INFINITY"};
constexpr auto kRoundingMode = field::Enum("RoundingMode", {"DML_ROUNDING_MODE_", kRoundingModes});
constexpr const Field* kRoundFields[] = {&kInputTensor, &kOutputTensor, &kRoundingMode};

void SetRounding(const OperatorDesc& op, ElementWiseCall& call) {
  constexpr F kFunctions[] = {F::kRoundHalvesToEven, F::kRoundTowardZero, F::kRoundHalvesAway};
  call.function = kFunctions[op[kRoundingMode]];
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ELEMENT_WISE_IDENTITY",
                {kScaledFields, kSupportBy<kIdentityRows>, "ID-1", InferIdentity},
                ElementWise{F::kCast}, {.in_place = true, .hardware_tolerance = IdentityTolerance}),
    Scaled("ELEMENT_WISE_ABS", kSupportBy<kAbsRows>, {F::kAbs}),
    Scaled("ELEMENT_WISE_CEIL", kSupportBy<kFloatRows>, {F::kCeil}),
    Scaled("ELEMENT_WISE_FLOOR", kSupportBy<kFloatRows>, {F::kFloor}),
    Unary("ELEMENT_WISE_NEGATE", kSupportBy<kNegateRows>, {F::kNegate}),
    Tolerating<2>(Scaled("ELEMENT_WISE_RECIP", kSupportBy<kFloatRows>, {F::kRecip})),
    WithFields(kRoundFields,
               Unary("ELEMENT_WISE_ROUND", kSupportBy<kRoundRows>, {.prepare = SetRounding})),
    Unary("ELEMENT_WISE_SIGN", kSupportBy<kSignRows>, {F::kSign}),
    Tolerating<1>(Scaled("ELEMENT_WISE_SQRT", kSupportBy<kFloatRows>, {F::kSqrt})),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::unary
