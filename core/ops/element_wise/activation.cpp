// SPDX-License-Identifier: Apache-2.0
// The rows of activations.
#include "core/ops/element_wise/shared.h"

namespace dmlop::element_wise {
namespace {

constexpr auto kAlpha = field::Float("Alpha").Means("A factor of the formula.");
constexpr auto kBeta = field::Float("Beta").Means("An addend of the formula.");
constexpr const Field* kAlphaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha};
constexpr const Field* kAlphaBetaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha, &kBeta};

constexpr SupportRow kActivationRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 0), 4, 5, {kFloats}},
    {Level(3, 0), 1, 8, {kFloats}},
};
constexpr SupportRow kLateRows[] = {{Level(6, 2), 1, 8, {kFloats}}};

// Passes the fields to the function in the order of its parameters.
template <const FieldOf<float>&... kNumbers>
void SetNumbers(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters.numbers = {op[kNumbers]...};
}

constexpr OperatorInfo Activation(std::string_view name, std::string_view summary,
                                  std::span<const Field* const> fields, const ElementWise& family) {
  OperatorInfo info = WithFields(fields, Unary(name, summary, kSupportBy<kActivationRows>, family));
  info.fusable = kFusableEverywhere;
  return info;
}

constexpr OperatorInfo Since(std::span<const SupportTable> support, OperatorInfo info) {
  info.support = support;
  return info;
}

}  // namespace
}  // namespace dmlop::element_wise

// --- activations whose exact values need only a few operations -----------------------------------

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

constexpr auto kSlopeTensor =
    field::Input("SlopeTensor").Means("The factor of each element that is below 0.");
constexpr const Field* kSlopeFields[] = {&kInputTensor, &kSlopeTensor, &kOutputTensor};

constexpr OperatorInfo ParameterizedRelu() {
  OperatorInfo info = Tolerating<1>(Since(
      kSupportBy<kReluRows>, Activation("ACTIVATION_PARAMETERIZED_RELU", "x, and slope * x below 0",
                                        kSlopeFields, {F::kParameterizedRelu})));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo ReluGrad() {
  OperatorInfo info = Since(kSupportBy<kReluGradRows>,
                            Activation("ACTIVATION_RELU_GRAD", "the gradient where x > 0, else 0",
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
  OperatorInfo info = Tolerating<4>(
      Since(kSupportBy<kLateRows>,
            Activation("ACTIVATION_HARD_SWISH", "x * max(0, min(Alpha * x + Beta, 1))",
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
    Since(kSupportBy<kReluRows>,
          Activation("ACTIVATION_RELU", "max(0, x)", kUnaryFields, {F::kRelu})),
    ReluGrad(),
    Since(kSupportBy<kShrinkRows>,
          Activation("ACTIVATION_SHRINK",
                     "x - Bias above Threshold, x + Bias below -Threshold, else 0", kShrinkFields,
                     {F::kShrink, SetNumbers<kBias, kThreshold>})),
    Tolerating<3>(
        Activation("ACTIVATION_SOFTSIGN", "x / (1 + abs x)", kUnaryFields, {F::kSoftsign})),
    Activation("ACTIVATION_THRESHOLDED_RELU", "x above Alpha, else 0", kAlphaFields,
               {F::kThresholdedRelu, SetNumbers<kAlpha>}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::activation

// --- activations with exponentials in their formulas ---------------------------------------------

namespace dmlop::smooth_activation {
namespace {

using namespace element_wise;

constexpr auto kGamma = field::Float("Gamma").Means("The factor of the whole formula.");
constexpr auto kSteepness = field::Float("Steepness")
                                .Means(
                                    "The factor of x in the exponent, by which the logarithm is "
                                    "divided; below feature level 6_4 it is at least 1.");
constexpr auto kSigmoidInputScale =
    field::Float("SigmoidInputScale").Means("The factor of x in the exponent.");
constexpr const Field* kAlphaGammaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha, &kGamma};
constexpr const Field* kSoftplusFields[] = {&kInputTensor, &kOutputTensor, &kSteepness};
constexpr const Field* kSwishFields[] = {&kInputTensor, &kOutputTensor, &kSigmoidInputScale};

constexpr SupportRow kCeluRows[] = {{Level(3, 0), 1, 8, {kFloats}}};
constexpr SupportRow kGeluRows[] = {{Level(5, 1), 1, 8, {kFloats}}};

constexpr Rule kSoftplusRules[] = {kSame, {"ACT-2", "before 6_4 Steepness is at least 1"}};

void InferSoftplus(const OperatorDesc& op, Inference& infer) {
  Infer(op, infer);
  infer.Require(op[kSteepness] >= 1 || infer.level() >= Level(6, 4), "ACT-2", At(kSteepness),
                "{} is not at least 1; that needs 6_4", op[kSteepness]);
}

constexpr OperatorInfo Softplus() {
  OperatorInfo info =
      Tolerating<18>(Activation("ACTIVATION_SOFTPLUS", "ln(1 + e^(Steepness * x)) / Steepness",
                                kSoftplusFields, {F::kSoftplus, SetNumbers<kSteepness>}));
  info.rules = kSoftplusRules;
  info.infer = InferSoftplus;
  return info;
}

constexpr OperatorInfo Swish() {
  OperatorInfo info = Since(kSupportBy<kLateRows>,
                            Activation("ACTIVATION_SWISH", "x / (1 + e^(-SigmoidInputScale * x))",
                                       kSwishFields, {F::kSwish, SetNumbers<kSigmoidInputScale>}));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Since(kSupportBy<kCeluRows>,
          Activation("ACTIVATION_CELU", "max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1))",
                     kAlphaFields, {F::kCelu, SetNumbers<kAlpha>})),
    Tolerating<18>(Activation("ACTIVATION_ELU", "x, and Alpha * (e^x - 1) below 0", kAlphaFields,
                              {F::kElu, SetNumbers<kAlpha>})),
    Tolerating<18>(Since(
        kSupportBy<kGeluRows>,
        Activation("ACTIVATION_GELU", "x * (1 + erf(x / sqrt(2))) / 2", kUnaryFields, {F::kGelu}))),
    Activation("ACTIVATION_PARAMETRIC_SOFTPLUS", "Alpha * ln(1 + e^(Beta * x))", kAlphaBetaFields,
               {F::kParametricSoftplus, SetNumbers<kAlpha, kBeta>}),
    Activation("ACTIVATION_SCALED_ELU", "Gamma * x, and Gamma * Alpha * (e^x - 1) up to 0",
               kAlphaGammaFields, {F::kScaledElu, SetNumbers<kAlpha, kGamma>}),
    Activation("ACTIVATION_SCALED_TANH", "Alpha * tanh(Beta * x)", kAlphaBetaFields,
               {F::kScaledTanh, SetNumbers<kAlpha, kBeta>}),
    Tolerating<34, 10>(
        Activation("ACTIVATION_SIGMOID", "1 / (1 + e^-x)", kUnaryFields, {F::kSigmoid})),
    Softplus(),
    Swish(),
    Tolerating<16>(Activation("ACTIVATION_TANH", "tanh x", kUnaryFields, {F::kTanh})),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::smooth_activation
