// SPDX-License-Identifier: Apache-2.0
// Operators on tensors of several types: IF and CAST.
#include "core/ops/element_wise/shared.h"

namespace dmlop::select_cast {
namespace {

using namespace element_wise;

// --- ELEMENT_WISE_IF -----------------------------------------------------------------------------

constexpr auto kConditionTensor = field::Input("ConditionTensor", TypeVariable::kU);
constexpr const Field* kIfFields[] = {&kConditionTensor, &kATensor, &kBTensor, &kOutputTensor};
constexpr DataTypes kUint8 = {DataType::kUint8};
constexpr SupportRow kIfRows[] = {
    {Level(2, 0), 4, 4, {DataTypes{DataType::kFloat16}, kUint8}},
    {Level(2, 1), 4, 4, {types::kUpTo32, kUint8}},
    {Level(3, 0), 1, 8, {types::kUpTo32, kUint8}},
    {Level(5, 0), 1, 8, {types::kAll, kUint8}},
};

std::vector<ConstTensorView> IfOperands(const OperatorDesc&, InputViews inputs, ElementWiseCall&) {
  return {inputs[1], inputs[2], inputs[0]};
}

// --- CAST ----------------------------------------------------------------------------------------

constexpr const Field* kCastFields[] = {&kInputTensor, &kOtherOutput};
constexpr DataTypes kNarrow = kFloats | types::kInt16s | types::kInt8s;
constexpr SupportRow kCastRows[] = {
    {Level(1, 0), 4, 4, {kNarrow, kNarrow}},
    {Level(3, 0), 4, 4, {kUpTo64, kUpTo64}},
    {Level(3, 1), 1, 8, {kUpTo64, kUpTo64}},
    {Level(4, 1), 1, 8, {types::kAll, types::kAll}},
};

Tolerance CastTolerance(const OperatorDesc& op) {
  return {.ulp = IsFloat(*op[kOtherOutput].data_type) ? 1u : 0u};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ELEMENT_WISE_IF", {kIfFields, kSupportBy<kIfRows>, "ELW-1", Infer},
                ElementWise{.function = F::kIf, .operands = IfOperands}, {.values_choose = true}),
    OperatorRow("CAST", {kCastFields, kSupportBy<kCastRows>, "ELW-1", Infer}, ElementWise{F::kCast},
                {.hardware_tolerance = CastTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::select_cast
