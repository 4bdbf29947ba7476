// SPDX-License-Identifier: Apache-2.0
// Activations whose exact values need only a few operations.
#include "core/ops/element_wise/activation.h"

namespace dmlop::activation {
namespace {

using namespace element_wise;

// --- rectified linear units ----------------------------------------------------------------------

constexpr SupportRow kReluRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 0), 4, 5, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
    {Level(5, 1), 1, 8, {kFloats | kSignedTo32}},
};
constexpr SupportRow kReluGradRows[] = {
    {Level(3, 0), 1, 8, {kFloats}},
    {Level(5, 1), 1, 8, {kFloats | kSignedTo32}},
};
constexpr SupportTable kReluSupport[] = {{kReluRows}};
constexpr SupportTable kReluGradSupport[] = {{kReluGradRows}};

constexpr auto kSlopeTensor =
    field::Input("SlopeTensor").Means("The factor of each element that is below 0.");
constexpr const Field* kSlopeFields[] = {&kInputTensor, &kSlopeTensor, &kOutputTensor};

constexpr OperatorInfo ParameterizedRelu() {
  OperatorInfo info = Tolerating<1>(
      Since(kReluSupport, Activation("ACTIVATION_PARAMETERIZED_RELU", "x, and slope * x below 0",
                                     kSlopeFields, {F::kParameterizedRelu})));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo ReluGrad() {
  OperatorInfo info =
      Since(kReluGradSupport, Activation("ACTIVATION_RELU_GRAD", "the gradient where x > 0, else 0",
                                         kGradientFields, {F::kReluGrad}));
  info.in_place = false;
  info.fusable = {};
  return info;
}

// --- others --------------------------------------------------------------------------------------

constexpr SupportRow kShrinkRows[] = {
    {Level(2, 0), 4, 5, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
    {Level(5, 1), 1, 8, {types::kUpTo32}},
};
constexpr SupportTable kShrinkSupport[] = {{kShrinkRows}};

constexpr auto kBias =
    field::Float("Bias").Means("How far elements beyond the threshold move towards 0.");
constexpr auto kThreshold =
    field::Float("Threshold").Means("Elements that are not farther from 0 become 0.");
constexpr const Field* kShrinkFields[] = {&kInputTensor, &kOutputTensor, &kBias, &kThreshold};

// Alpha * x + Beta is IDENTITY with a ScaleBias.
void SetLinear(const OperatorDesc& op, ElementWiseCall& call) {
  call.scale_bias = ScaleBias{op[kAlpha], op[kBeta]};
}

constexpr OperatorInfo HardSwish() {
  OperatorInfo info = Tolerating<4>(Since(
      kLateSupport, Activation("ACTIVATION_HARD_SWISH", "x * max(0, min(Alpha * x + Beta, 1))",
                               kAlphaBetaFields, {F::kHardSwish, SetNumbers<kAlpha, kBeta>})));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Tolerating<2>(Activation("ACTIVATION_HARD_SIGMOID", "max(0, min(Alpha * x + Beta, 1))",
                             kAlphaBetaFields, {F::kHardSigmoid, SetNumbers<kAlpha, kBeta>})),
    HardSwish(),
    Activation("ACTIVATION_IDENTITY", "x", kUnaryFields, {F::kCast}),
    Tolerating<1, 2>(Activation("ACTIVATION_LEAKY_RELU", "x, and Alpha * x below 0", kAlphaFields,
                                {F::kLeakyRelu, SetNumbers<kAlpha>})),
    Tolerating<2>(Activation("ACTIVATION_LINEAR", "Alpha * x + Beta", kAlphaBetaFields,
                             {F::kCast, SetLinear})),
    ParameterizedRelu(),
    Since(kReluSupport, Activation("ACTIVATION_RELU", "max(0, x)", kUnaryFields, {F::kRelu})),
    ReluGrad(),
    Since(kShrinkSupport, Activation("ACTIVATION_SHRINK",
                                     "x - Bias above Threshold, x + Bias below -Threshold, else 0",
                                     kShrinkFields, {F::kShrink, SetNumbers<kBias, kThreshold>})),
    Tolerating<3>(
        Activation("ACTIVATION_SOFTSIGN", "x / (1 + abs x)", kUnaryFields, {F::kSoftsign})),
    Activation("ACTIVATION_THRESHOLDED_RELU", "x above Alpha, else 0", kAlphaFields,
               {F::kThresholdedRelu, SetNumbers<kAlpha>}),
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::activation
