// SPDX-License-Identifier: Apache-2.0
// Functions of real numbers: exponential, logarithm, power, trigonometric and hyperbolic functions,
// and their inverses.
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
constexpr SupportTable kFloatSupport[] = {{kFloatRows}};
constexpr SupportTable kLaterFloatSupport[] = {{kLaterFloatRows}};

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
constexpr SupportTable kPowSupport[] = {{kPowRows}};
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
constexpr SupportTable kConstantPowSupport[] = {{kConstantPowRows}};

void SetExponent(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters.numbers = {op[kExponent]};
}

// --- ELEMENT_WISE_ATAN_YX ------------------------------------------------------------------------

constexpr SupportRow kAtanYxRows[] = {{Level(3, 1), 1, 8, {types::kFloats}}};
constexpr SupportTable kAtanYxSupport[] = {{kAtanYxRows}};

constexpr OperatorInfo kOperators[] = {
    Function("ELEMENT_WISE_ACOS", "the arc cosine of each element", F::kAcos, kFloatSupport),
    Function("ELEMENT_WISE_ACOSH", "the inverse hyperbolic cosine of each element", F::kAcosh,
             kLaterFloatSupport),
    Function("ELEMENT_WISE_ASIN", "the arc sine of each element", F::kAsin, kFloatSupport),
    Function("ELEMENT_WISE_ASINH", "the inverse hyperbolic sine of each element", F::kAsinh,
             kLaterFloatSupport),
    Function("ELEMENT_WISE_ATAN", "the arc tangent of each element", F::kAtan, kFloatSupport),
    Function("ELEMENT_WISE_ATANH", "the inverse hyperbolic tangent of each element", F::kAtanh,
             kLaterFloatSupport),
    Function("ELEMENT_WISE_COS", "the cosine of each element, an angle in radians", F::kCos,
             kFloatSupport, kThousandth),
    Function("ELEMENT_WISE_COSH", "the hyperbolic cosine of each element", F::kCosh,
             kLaterFloatSupport),
    Function("ELEMENT_WISE_ERF", "the error function of each element", F::kErf, kLaterFloatSupport,
             kThousandth),
    Function("ELEMENT_WISE_EXP", "e to the power of each element", F::kExp, kFloatSupport,
             Ulp<32, 1>),
    Function("ELEMENT_WISE_LOG", "the natural logarithm of each element", F::kLog, kFloatSupport,
             PowerOfTwo<-10>),
    Function("ELEMENT_WISE_SIN", "the sine of each element, an angle in radians", F::kSin,
             kFloatSupport, kThousandth),
    Function("ELEMENT_WISE_SINH", "the hyperbolic sine of each element", F::kSinh,
             kLaterFloatSupport),
    Function("ELEMENT_WISE_TAN", "the tangent of each element, an angle in radians", F::kTan,
             kFloatSupport, kThousandth),
    Function("ELEMENT_WISE_TANH", "the hyperbolic tangent of each element", F::kTanh,
             kLaterFloatSupport, Ulp<16>),
    {.name = "ELEMENT_WISE_POW",
     .summary = "each element to the power of an exponent of its own",
     .fields = kPowFields,
     .support = kPowSupport,
     .type_rule = "ELW-1",
     .rules = kPowRules,
     .infer = InferPow,
     .family = ElementWise{F::kPow},
     .in_place = true,
     .hardware_tolerance = Ulp<32, 2>},
    Tolerating<32, 2>(
        WithFields(kConstantPowFields,
                   Scaled("ELEMENT_WISE_CONSTANT_POW", "each element to the power of Exponent",
                          kConstantPowSupport, {F::kConstantPow, SetExponent}))),
    Binary("ELEMENT_WISE_ATAN_YX", "the angle of the point (b, a), in (-pi, pi]", kAtanYxSupport,
           {F::kAtanYx}),
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::transcendental
