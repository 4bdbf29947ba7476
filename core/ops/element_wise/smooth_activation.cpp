// SPDX-License-Identifier: Apache-2.0
// Activations with exponentials in their formulas.
#include "core/ops/element_wise/activation.h"

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
constexpr SupportTable kCeluSupport[] = {{kCeluRows}};
constexpr SupportTable kGeluSupport[] = {{kGeluRows}};

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
  OperatorInfo info =
      Since(kLateSupport, Activation("ACTIVATION_SWISH", "x / (1 + e^(-SigmoidInputScale * x))",
                                     kSwishFields, {F::kSwish, SetNumbers<kSigmoidInputScale>}));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Since(kCeluSupport,
          Activation("ACTIVATION_CELU", "max(0, x) + min(0, Alpha * (e^(x / Alpha) - 1))",
                     kAlphaFields, {F::kCelu, SetNumbers<kAlpha>})),
    Tolerating<18>(Activation("ACTIVATION_ELU", "x, and Alpha * (e^x - 1) below 0", kAlphaFields,
                              {F::kElu, SetNumbers<kAlpha>})),
    Tolerating<18>(Since(
        kGeluSupport,
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

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::smooth_activation
