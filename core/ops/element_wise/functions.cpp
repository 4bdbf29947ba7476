// SPDX-License-Identifier: Apache-2.0
// Element-wise operators that are functions of analysis, and activations.
#include "core/ops/element_wise/shared.h"

// Functions of real numbers: exponential, logarithm, power, circular, hyperbolic, and inverses.
namespace dmlop::transcendental {
namespace {

using namespace element_wise;

constexpr SupportRow kLaterFloatRows[] = {
    {Level(2, 0), 4, 4, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kFloats}},
};

// --- functions of one element --------------------------------------------------------------------

constexpr OperatorInfo Function(std::string_view name, F function,
                                std::span<const SupportTable> support,
                                Tolerance (*tolerance)(const OperatorDesc& op) = nullptr) {
  return Granting(tolerance, Scaled(name, support, {function}));
}

// --- powers --------------------------------------------------------------------------------------

constexpr auto kExponentTensor = field::Input("ExponentTensor", TypeVariable::kU);
constexpr const Field* kPowFields[] = {&kInputTensor, &kExponentTensor, &kOutputTensor,
                                       &kScaleBias};
constexpr SupportRow kPowRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kUpTo32, types::kUpTo32}},
};

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
constexpr const Field* kConstantPowFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias,
                                               &kExponent};
constexpr SupportRow kConstantPowRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
};

void SetExponent(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters.numbers = {op[kExponent]};
}

// --- ELEMENT_WISE_ATAN_YX ------------------------------------------------------------------------

constexpr SupportRow kAtanYxRows[] = {{Level(3, 1), 1, 8, {types::kFloats}}};

constexpr OperatorInfo kOperators[] = {
    Function("ELEMENT_WISE_ACOS", F::kAcos, kSupportBy<kFloatRows>),
    Function("ELEMENT_WISE_ACOSH", F::kAcosh, kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_ASIN", F::kAsin, kSupportBy<kFloatRows>),
    Function("ELEMENT_WISE_ASINH", F::kAsinh, kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_ATAN", F::kAtan, kSupportBy<kFloatRows>),
    Function("ELEMENT_WISE_ATANH", F::kAtanh, kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_COS", F::kCos, kSupportBy<kFloatRows>, kThousandth),
    Function("ELEMENT_WISE_COSH", F::kCosh, kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_ERF", F::kErf, kSupportBy<kLaterFloatRows>, kThousandth),
    Function("ELEMENT_WISE_EXP", F::kExp, kSupportBy<kFloatRows>, Ulp<32, 1>),
    Function("ELEMENT_WISE_LOG", F::kLog, kSupportBy<kFloatRows>, PowerOfTwo<-10>),
    Function("ELEMENT_WISE_SIN", F::kSin, kSupportBy<kFloatRows>, kThousandth),
    Function("ELEMENT_WISE_SINH", F::kSinh, kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_TAN", F::kTan, kSupportBy<kFloatRows>, kThousandth),
    Function("ELEMENT_WISE_TANH", F::kTanh, kSupportBy<kLaterFloatRows>, Ulp<16>),
    OperatorRow("ELEMENT_WISE_POW", {kPowFields, kSupportBy<kPowRows>, "ELW-1", InferPow},
                ElementWise{F::kPow}, {.in_place = true, .hardware_tolerance = Ulp<32, 2>}),
    Tolerating<32, 2>(WithFields(kConstantPowFields,
                                 Scaled("ELEMENT_WISE_CONSTANT_POW", kSupportBy<kConstantPowRows>,
                                        {F::kConstantPow, SetExponent}))),
    Binary("ELEMENT_WISE_ATAN_YX", kSupportBy<kAtanYxRows>, {F::kAtanYx}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::transcendental

// The rows of activations.
namespace dmlop::element_wise {
namespace {

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

constexpr OperatorInfo Activation(std::string_view name, std::span<const Field* const> fields,
                                  const ElementWise& family) {
  OperatorInfo info = WithFields(fields, Unary(name, kSupportBy<kActivationRows>, family));
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

constexpr auto kSlopeTensor = field::Input("SlopeTensor");
constexpr const Field* kSlopeFields[] = {&kInputTensor, &kSlopeTensor, &kOutputTensor};

constexpr OperatorInfo ParameterizedRelu() {
  OperatorInfo info = Tolerating<1>(
      Since(kSupportBy<kReluRows>,
            Activation("ACTIVATION_PARAMETERIZED_RELU", kSlopeFields, {F::kParameterizedRelu})));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo ReluGrad() {
  OperatorInfo info = Since(kSupportBy<kReluGradRows>,
                            Activation("ACTIVATION_RELU_GRAD", kGradientFields, {F::kReluGrad}));
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

constexpr auto kBias = field::Float("Bias");
constexpr auto kThreshold = field::Float("Threshold");
constexpr const Field* kShrinkFields[] = {&kInputTensor, &kOutputTensor, &kBias, &kThreshold};

// Alpha * x + Beta is IDENTITY with a ScaleBias.
void SetLinear(const OperatorDesc& op, ElementWiseCall& call) {
  call.scale_bias = ScaleBias{op[kAlpha], op[kBeta]};
}

constexpr OperatorInfo HardSwish() {
  OperatorInfo info = Tolerating<4>(
      Since(kSupportBy<kLateRows>, Activation("ACTIVATION_HARD_SWISH", kAlphaBetaFields,
                                              {F::kHardSwish, SetNumbers<kAlpha, kBeta>})));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Tolerating<2>(Activation("ACTIVATION_HARD_SIGMOID", kAlphaBetaFields,
                             {F::kHardSigmoid, SetNumbers<kAlpha, kBeta>})),
    HardSwish(),
    Activation("ACTIVATION_IDENTITY", kUnaryFields, {F::kCast}),
    Tolerating<1, 2>(
        Activation("ACTIVATION_LEAKY_RELU", kAlphaFields, {F::kLeakyRelu, SetNumbers<kAlpha>})),
    Tolerating<2>(Activation("ACTIVATION_LINEAR", kAlphaBetaFields, {F::kCast, SetLinear})),
    ParameterizedRelu(),
    Since(kSupportBy<kReluRows>, Activation("ACTIVATION_RELU", kUnaryFields, {F::kRelu})),
    ReluGrad(),
    Since(kSupportBy<kShrinkRows>, Activation("ACTIVATION_SHRINK", kShrinkFields,
                                              {F::kShrink, SetNumbers<kBias, kThreshold>})),
    Tolerating<3>(Activation("ACTIVATION_SOFTSIGN", kUnaryFields, {F::kSoftsign})),
    Activation("ACTIVATION_THRESHOLDED_RELU", kAlphaFields,
               {F::kThresholdedRelu, SetNumbers<kAlpha>}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::activation

// --- activations with exponentials in their formulas ---------------------------------------------

namespace dmlop::smooth_activation {
namespace {

using namespace element_wise;

constexpr auto kGamma = field::Float("Gamma");
constexpr auto kSteepness = field::Float("Steepness");
constexpr auto kSigmoidInputScale = field::Float("SigmoidInputScale");
constexpr const Field* kAlphaGammaFields[] = {&kInputTensor, &kOutputTensor, &kAlpha, &kGamma};
constexpr const Field* kSoftplusFields[] = {&kInputTensor, &kOutputTensor, &kSteepness};
constexpr const Field* kSwishFields[] = {&kInputTensor, &kOutputTensor, &kSigmoidInputScale};

constexpr SupportRow kCeluRows[] = {{Level(3, 0), 1, 8, {kFloats}}};
constexpr SupportRow kGeluRows[] = {{Level(5, 1), 1, 8, {kFloats}}};

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
  OperatorInfo info = Since(
      kSupportBy<kLateRows>,
      Activation("ACTIVATION_SWISH", kSwishFields, {F::kSwish, SetNumbers<kSigmoidInputScale>}));
  info.fusable = {};
  return info;
}

constexpr OperatorInfo kOperators[] = {
    Since(kSupportBy<kCeluRows>,
          Activation("ACTIVATION_CELU", kAlphaFields, {F::kCelu, SetNumbers<kAlpha>})),
    Tolerating<18>(Activation("ACTIVATION_ELU", kAlphaFields, {F::kElu, SetNumbers<kAlpha>})),
    Tolerating<18>(
        Since(kSupportBy<kGeluRows>, Activation("ACTIVATION_GELU", kUnaryFields, {F::kGelu}))),
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

}  // namespace dmlop::smooth_activation
