// SPDX-License-Identifier: Apache-2.0
// Functions of real numbers: exponential, logarithm, power, circular, hyperbolic, and inverses.
#include "core/ops/element_wise/shared.h"

namespace dmlop::transcendental {
namespace {

using namespace element_wise;

constexpr SupportRow kFloatRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kFloats}},
};
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
