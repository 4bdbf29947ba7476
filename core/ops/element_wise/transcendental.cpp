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

constexpr OperatorInfo Function(std::string_view name, std::string_view summary, F function,
                                std::span<const SupportTable> support,
                                Tolerance (*tolerance)(const OperatorDesc& op) = nullptr) {
  return Granting(tolerance, Scaled(name, summary, support, {function}));
}

// --- powers --------------------------------------------------------------------------------------

constexpr auto kExponentTensor =
    field::Input("ExponentTensor", TypeVariable::kU)
        .Means("The exponent of each element; its type may be another.");
constexpr const Field* kPowFields[] = {&kInputTensor, &kExponentTensor, &kOutputTensor,
                                       &kScaleBias};
constexpr SupportRow kPowRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(3, 0), 1, 8, {types::kUpTo32, types::kUpTo32}},
};
constexpr Rule kPowRules[] = {
    {"ELW-1", "input and output agree in DataType, and all tensors in DimensionCount and Sizes"},
    {"POW-1", "before 3_0 the exponents have the input's DataType"},
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

constexpr auto kExponent = field::Float("Exponent").Means("The exponent of all elements.");
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
    Function("ELEMENT_WISE_ACOS", "the arc cosine of each element", F::kAcos,
             kSupportBy<kFloatRows>),
    Function("ELEMENT_WISE_ACOSH", "the inverse hyperbolic cosine of each element", F::kAcosh,
             kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_ASIN", "the arc sine of each element", F::kAsin, kSupportBy<kFloatRows>),
    Function("ELEMENT_WISE_ASINH", "the inverse hyperbolic sine of each element", F::kAsinh,
             kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_ATAN", "the arc tangent of each element", F::kAtan,
             kSupportBy<kFloatRows>),
    Function("ELEMENT_WISE_ATANH", "the inverse hyperbolic tangent of each element", F::kAtanh,
             kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_COS", "the cosine of each element, an angle in radians", F::kCos,
             kSupportBy<kFloatRows>, kThousandth),
    Function("ELEMENT_WISE_COSH", "the hyperbolic cosine of each element", F::kCosh,
             kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_ERF", "the error function of each element", F::kErf,
             kSupportBy<kLaterFloatRows>, kThousandth),
    Function("ELEMENT_WISE_EXP", "e to the power of each element", F::kExp, kSupportBy<kFloatRows>,
             Ulp<32, 1>),
    Function("ELEMENT_WISE_LOG", "the natural logarithm of each element", F::kLog,
             kSupportBy<kFloatRows>, PowerOfTwo<-10>),
    Function("ELEMENT_WISE_SIN", "the sine of each element, an angle in radians", F::kSin,
             kSupportBy<kFloatRows>, kThousandth),
    Function("ELEMENT_WISE_SINH", "the hyperbolic sine of each element", F::kSinh,
             kSupportBy<kLaterFloatRows>),
    Function("ELEMENT_WISE_TAN", "the tangent of each element, an angle in radians", F::kTan,
             kSupportBy<kFloatRows>, kThousandth),
    Function("ELEMENT_WISE_TANH", "the hyperbolic tangent of each element", F::kTanh,
             kSupportBy<kLaterFloatRows>, Ulp<16>),
    OperatorRow("ELEMENT_WISE_POW", "each element to the power of an exponent of its own",
                {kPowFields, kSupportBy<kPowRows>, "ELW-1", kPowRules, InferPow},
                ElementWise{F::kPow}, {.in_place = true, .hardware_tolerance = Ulp<32, 2>}),
    Tolerating<32, 2>(
        WithFields(kConstantPowFields,
                   Scaled("ELEMENT_WISE_CONSTANT_POW", "each element to the power of Exponent",
                          kSupportBy<kConstantPowRows>, {F::kConstantPow, SetExponent}))),
    Binary("ELEMENT_WISE_ATAN_YX", "the angle of the point (b, a), in (-pi, pi]",
           kSupportBy<kAtanYxRows>, {F::kAtanYx}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::transcendental
