// SPDX-License-Identifier: Apache-2.0
// Element-wise operators that are functions of analysis, and activations.
#include "core/ops/element_wise/row_makers.h"

namespace dmlop::functions {
namespace {

using namespace element_wise;

// --- functions of one element --------------------------------------------------------------------

constexpr OperatorInfo Function(std::string_view name, F function,
                                Tolerance (*tolerance)(const OperatorDesc& op) = nullptr) {
  return Granting(tolerance, Scaled(name, {function}));
}

// --- powers --------------------------------------------------------------------------------------

constexpr auto kExponentTensor = field::Input("ExponentTensor", TypeVariable::kU);
constexpr auto kPowFields = Fields(kInputTensor, kExponentTensor, kOutputTensor, kScaleBias);

void InferPow(const OperatorDesc& op, Inference& infer) {
  Infer(op, infer);
  const DataType type = *op[kInputTensor].data_type;
  const DataType exponent_type = *op[kExponentTensor].data_type;
  infer.Require(exponent_type == type || infer.level() >= Level(3, 0), "POW-1",
                {kExponentTensor.name, std::nullopt, "DataType"},
                "{} does not match {} of InputTensor; that needs 3_0", Name(exponent_type),
                Name(type));
}

constexpr auto kExponent = field::Float("Exponent");
constexpr auto kConstantPowFields = Fields(kInputTensor, kOutputTensor, kScaleBias, kExponent);

void SetExponent(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters.numbers = {op[kExponent]};
}

// --- activations ---------------------------------------------------------------------------------

constexpr auto kAlphaFields = Fields(kInputTensor, kOutputTensor, kAlpha);
constexpr auto kAlphaBetaFields = Fields(kInputTensor, kOutputTensor, kAlpha, kBeta);

// Passes the fields to the function in the order of its parameters.
template <const FieldOf<float>&... kNumbers>
void SetNumbers(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters.numbers = {op[kNumbers]...};
}

constexpr OperatorInfo Activation(std::string_view name, std::span<const Field* const> fields,
                                  const ElementWise& family) {
  OperatorInfo info = WithFields(fields, Unary(name, family));
  info.fusable = kFusableEverywhere;
  return info;
}

// --- rectified linear units ----------------------------------------------------------------------

constexpr auto kSlopeTensor = field::Input("SlopeTensor");
constexpr auto kSlopeFields = Fields(kInputTensor, kSlopeTensor, kOutputTensor);

constexpr OperatorInfo ParameterizedRelu() {
  OperatorInfo info = Tolerating<1>(
      Activation("ACTIVATION_PARAMETERIZED_RELU", kSlopeFields, {F::kParameterizedRelu}));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo ReluGrad() {
  OperatorInfo info = Activation("ACTIVATION_RELU_GRAD", kGradientFields, {F::kReluGrad});
  info.in_place = false;
  info.fusable = {};
  return info;
}

// --- others --------------------------------------------------------------------------------------

constexpr auto kBias = field::Float("Bias");
constexpr auto kThreshold = field::Float("Threshold");
constexpr auto kShrinkFields = Fields(kInputTensor, kOutputTensor, kBias, kThreshold);

// Alpha * x + Beta is IDENTITY with a ScaleBias.
void SetLinear(const OperatorDesc& op, ElementWiseCall& call) {
  call.scale_bias = ScaleBias{op[kAlpha], op[kBeta]};
}

constexpr OperatorInfo HardSwish() {
  OperatorInfo info = Tolerating<4>(Activation("ACTIVATION_HARD_SWISH", kAlphaBetaFields,
                                               {F::kHardSwish, SetNumbers<kAlpha, kBeta>}));
  info.fusable = {};
  return info;
}

// --- activations with exponentials in their formulas ---------------------------------------------

constexpr auto kGamma = field::Float("Gamma");
constexpr auto kSteepness = field::Float("Steepness");
constexpr auto kSigmoidInputScale = field::Float("SigmoidInputScale");
constexpr auto kAlphaGammaFields = Fields(kInputTensor, kOutputTensor, kAlpha, kGamma);
constexpr auto kSoftplusFields = Fields(kInputTensor, kOutputTensor, kSteepness);
constexpr auto kSwishFields = Fields(kInputTensor, kOutputTensor, kSigmoidInputScale);

void InferSoftplus(const OperatorDesc& op, Inference& infer) {
  Infer(op, infer);
  infer.Require(op[kSteepness] >= 1 || infer.level() >= Level(6, 4), "ACT-2", At(kSteepness),
                "{} is not at least 1; that needs 6_4", op[kSteepness]);
}

constexpr OperatorInfo Softplus() {
  OperatorInfo info = Tolerating<18>(
      Activation("ACTIVATION_SOFTPLUS", kSoftplusFields, {F::kSoftplus, SetNumbers<kSteepness>}));
  info.infer = InferSoftplus;
  return info;
}

constexpr OperatorInfo Swish() {
  OperatorInfo info =
      Activation("ACTIVATION_SWISH", kSwishFields, {F::kSwish, SetNumbers<kSigmoidInputScale>});
  info.fusable = {};
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Function("ELEMENT_WISE_ACOS", F::kAcos),
    Function("ELEMENT_WISE_ACOSH", F::kAcosh),
    Function("ELEMENT_WISE_ASIN", F::kAsin),
    Function("ELEMENT_WISE_ASINH", F::kAsinh),
    Function("ELEMENT_WISE_ATAN", F::kAtan),
    Function("ELEMENT_WISE_ATANH", F::kAtanh),
    Function("ELEMENT_WISE_COS", F::kCos, kThousandth),
    Function("ELEMENT_WISE_COSH", F::kCosh),
    Function("ELEMENT_WISE_ERF", F::kErf, kThousandth),
    Function("ELEMENT_WISE_EXP", F::kExp, Ulp<32, 1>),
    Function("ELEMENT_WISE_LOG", F::kLog, PowerOfTwo<-10>),
    Function("ELEMENT_WISE_SIN", F::kSin, kThousandth),
    Function("ELEMENT_WISE_SINH", F::kSinh),
    Function("ELEMENT_WISE_TAN", F::kTan, kThousandth),
    Function("ELEMENT_WISE_TANH", F::kTanh, Ulp<16>),
    OperatorRow("ELEMENT_WISE_POW", {kPowFields, "ELW-1", InferPow}, ElementWise{F::kPow},
                {.in_place = true, .hardware_tolerance = Ulp<32, 2>}),
    Tolerating<32, 2>(WithFields(
        kConstantPowFields, Scaled("ELEMENT_WISE_CONSTANT_POW", {F::kConstantPow, SetExponent}))),
    Binary("ELEMENT_WISE_ATAN_YX", {F::kAtanYx}),
    Tolerating<2>(Activation("ACTIVATION_HARD_SIGMOID", kAlphaBetaFields,
                             {F::kHardSigmoid, SetNumbers<kAlpha, kBeta>})),
    HardSwish(),
    Activation("ACTIVATION_IDENTITY", kUnaryFields, {F::kCast}),
    Tolerating<1, 2>(
        Activation("ACTIVATION_LEAKY_RELU", kAlphaFields, {F::kLeakyRelu, SetNumbers<kAlpha>})),
    Tolerating<2>(Activation("ACTIVATION_LINEAR", kAlphaBetaFields, {F::kCast, SetLinear})),
    ParameterizedRelu(),
    Activation("ACTIVATION_RELU", kUnaryFields, {F::kRelu}),
    ReluGrad(),
    Activation("ACTIVATION_SHRINK", kShrinkFields, {F::kShrink, SetNumbers<kBias, kThreshold>}),
    Tolerating<3>(Activation("ACTIVATION_SOFTSIGN", kUnaryFields, {F::kSoftsign})),
    Activation("ACTIVATION_THRESHOLDED_RELU", kAlphaFields,
               {F::kThresholdedRelu, SetNumbers<kAlpha>}),
    Activation("ACTIVATION_CELU", kAlphaFields, {F::kCelu, SetNumbers<kAlpha>}),
    Tolerating<18>(Activation("ACTIVATION_ELU", kAlphaFields, {F::kElu, SetNumbers<kAlpha>})),
    Tolerating<18>(Activation("ACTIVATION_GELU", kUnaryFields, {F::kGelu})),
    Activation("ACTIVATION_PARAMETRIC_SOFTPLUS", kAlphaBetaFields,
               {F::kParametricSoftplus, SetNumbers<kAlpha, kBeta>}),
    Activation("ACTIVATION_SCALED_ELU", kAlphaGammaFields,
               {F::kScaledElu, SetNumbers<kAlpha, kGamma>}),
    Activation("ACTIVATION_SCALED_TANH", kAlphaBetaFields,
               {F::kScaledTanh, SetNumbers<kAlpha, kBeta>}),
    Tolerating<34, 10>(Activation("ACTIVATION_SIGMOID", kUnaryFields, {F::kSigmoid})),
    Softplus(),
    Swish(),
    Tolerating<16>(Activation("ACTIVATION_TANH", kUnaryFields, {F::kTanh})),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::functions
