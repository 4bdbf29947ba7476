// SPDX-License-Identifier: Apache-2.0
// Functions of real numbers: exponential, logarithm, power, trigonometric and hyperbolic functions,
// and their inverses.
#include "core/ops/hardware_tolerance.h"
#include "core/ops/inference.h"

namespace dmlop::transcendental {
namespace {

using F = ElementWiseFunction;

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

constexpr Rule kSameRule = {"ELW-1", "all tensors agree in DataType, DimensionCount and Sizes"};

// --- functions of one element --------------------------------------------------------------------

constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias};
constexpr Rule kRules[] = {kSameRule};

void Infer(const OperatorDesc& op, Inference& infer) {
  InferSameSizes("ELW-1", op, kInputTensor, infer);
}

constexpr OperatorInfo Function(std::string_view name, std::string_view summary, F function,
                                std::span<const SupportTable> support,
                                Tolerance (*tolerance)(const OperatorDesc& op) = nullptr) {
  return {.name = name,
          .summary = summary,
          .fields = kFields,
          .support = support,
          .type_rule = "ELW-1",
          .rules = kRules,
          .infer = Infer,
          .family = ElementWise{function},
          .in_place = true,
          .hardware_tolerance = tolerance};
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
  infer.RequireSizes("ELW-1", infer.tensor(kExponentTensor), op.sizes(kInputTensor));
  infer.Output("ELW-1", kOutputTensor, op.sizes(kInputTensor));
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

constexpr const Field* kAtanYxFields[] = {&kATensor, &kBTensor, &kOutputTensor};
constexpr SupportRow kAtanYxRows[] = {{Level(3, 1), 1, 8, {types::kFloats}}};
constexpr SupportTable kAtanYxSupport[] = {{kAtanYxRows}};

void InferAtanYx(const OperatorDesc& op, Inference& infer) {
  infer.RequireSizes("ELW-1", infer.tensor(kBTensor), op.sizes(kATensor));
  infer.Output("ELW-1", kOutputTensor, op.sizes(kATensor));
}

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
    {.name = "ELEMENT_WISE_CONSTANT_POW",
     .summary = "each element to the power of Exponent",
     .fields = kConstantPowFields,
     .support = kConstantPowSupport,
     .type_rule = "ELW-1",
     .rules = kRules,
     .infer = Infer,
     .family = ElementWise{F::kConstantPow, SetExponent},
     .in_place = true,
     .hardware_tolerance = Ulp<32, 2>},
    {.name = "ELEMENT_WISE_ATAN_YX",
     .summary = "the angle of the point (b, a), in (-pi, pi]",
     .fields = kAtanYxFields,
     .support = kAtanYxSupport,
     .type_rule = "ELW-1",
     .rules = kRules,
     .infer = InferAtanYx,
     .family = ElementWise{F::kAtanYx},
     .in_place = true},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::transcendental
