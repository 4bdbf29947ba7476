// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_steps.h"

namespace dmlop::onnx_element_wise {
namespace {

// --- functions of one element --------------------------------------------------------------------

// A field of an operator that is an attribute's number, or always the same one.
struct NumberField {
  std::string_view op, field;
  std::string_view attribute;  // empty if ONNX has none
  float number;                // without the attribute
};

constexpr NumberField kNumberFields[] = {
    {"ACTIVATION_CELU", "Alpha", "alpha", 1},
    {"ACTIVATION_ELU", "Alpha", "alpha", 1},
    {"ACTIVATION_HARD_SIGMOID", "Alpha", "alpha", 0.2F},
    {"ACTIVATION_HARD_SIGMOID", "Beta", "beta", 0.5F},
    {"ACTIVATION_HARD_SWISH", "Alpha", "", 1.0F / 6},
    {"ACTIVATION_HARD_SWISH", "Beta", "", 0.5F},
    {"ACTIVATION_LEAKY_RELU", "Alpha", "alpha", 0.01F},
    {"ACTIVATION_SCALED_ELU", "Alpha", "alpha", 1.67326319217681884765625F},
    {"ACTIVATION_SCALED_ELU", "Gamma", "gamma", 1.05070102214813232421875F},
    {"ACTIVATION_SHRINK", "Bias", "bias", 0},
    {"ACTIVATION_SHRINK", "Threshold", "lambd", 0.5F},
    {"ACTIVATION_SOFTPLUS", "Steepness", "", 1},
    {"ACTIVATION_SWISH", "SigmoidInputScale", "alpha", 1},
    {"ACTIVATION_THRESHOLDED_RELU", "Alpha", "alpha", 1},
};

void Unary(OnnxCall& call) {
  OnnxSettings numbers;
  for (const auto& [op, field, attribute, number] : kNumberFields) {
    if (op != call.row().operators) continue;
    numbers.emplace_back(field, attribute.empty() ? number : call.Float(attribute, number));
  }
  EmitElements(call, call.row().operators, call.In(0).type, numbers);
}

void Predicate(OnnxCall& call) {
  EmitElements(call, call.row().operators, kOnnxBool);
}

void Round(OnnxCall& call) {
  EmitElements(call, call.row().operators, call.In(0).type,
               {{"RoundingMode", "HALVES_TO_NEAREST_EVEN"}});
}

void Abs(OnnxCall& call) {
  const bool is_signed = IsSigned(call.In(0).type.type);
  EmitElements(call, is_signed ? "ELEMENT_WISE_ABS" : "ELEMENT_WISE_IDENTITY", call.In(0).type);
}

// --- functions of two elements and more ----------------------------------------------------------

void Binary(OnnxCall& call) {
  EmitPair(call, call.row().operators, call.In(0).type);
}

void Comparison(OnnxCall& call) {
  EmitPair(call, call.row().operators, kOnnxBool);
}

void Where(OnnxCall& call) {
  OnnxValue& a = call.In(1);
  OnnxValue& b = call.In(2);
  const OnnxSizes sizes =
      BroadcastSizes(call, call.In(0).sizes, BroadcastSizes(call, a.sizes, b.sizes));
  call.Emit("ELEMENT_WISE_IF", {{"ConditionTensor", BroadcastTo(call.In(0), sizes)},
                                {"ATensor", BroadcastTo(a, sizes)},
                                {"BTensor", BroadcastTo(b, sizes)},
                                {"OutputTensor", call.Out(0, a.type, sizes)}});
}

// --- types ---------------------------------------------------------------------------------------

// The elements of 0 and NaN are false and true in ONNX.
void EmitCastToBool(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& zero = call.Constant(x.type, {}, std::array<std::byte, 8>{});
  const OnnxOperand is_zero = call.Temporary(kOnnxBool, x.sizes);
  call.Emit(
      "ELEMENT_WISE_LOGICAL_EQUALS",
      {{"ATensor", Packed(x)}, {"BTensor", BroadcastTo(zero, x.sizes)}, {"OutputTensor", is_zero}});
  call.Emit("ELEMENT_WISE_LOGICAL_NOT",
            {{"InputTensor", is_zero}, {"OutputTensor", call.Out(0, kOnnxBool, x.sizes)}});
  if (IsFloat(x.type.type)) {
    call.Note("ORT's DirectML provider casts to UINT8 first: false for 0.5, -1.0 and NaN");
  }
}

void EmitCast(OnnxCall& call, const OnnxType& type) {
  if (type.is_bool() && !call.In(0).type.is_bool()) return EmitCastToBool(call);
  EmitElements(call, "CAST", type);
}

void Cast(OnnxCall& call) {
  if (!call.HasAttribute("to")) call.Refuse("ONX-3", "the attribute 'to' is missing");
  EmitCast(call, call.RequireType(call.Int("to", 0)));
}

void CastLike(OnnxCall& call) {
  EmitCast(call, call.In(1).type);
}

// --- activations ---------------------------------------------------------------------------------

OnnxSizes ChannelSizes(const OnnxValue& slope, size_t rank) {
  OnnxSizes sizes(rank, 1);
  sizes[1] = slope.sizes[0];
  return sizes;
}

void PRelu(OnnxCall& call) {
  OnnxValue& x = call.In(0);
  OnnxValue& slope = call.In(1);
  // In old models, the slopes are those of channels.
  const bool is_old = call.version() < 7 && slope.rank() == 1 && x.rank() > 1;
  const OnnxOperand slopes = is_old ? RepeatedTo(slope, ChannelSizes(slope, x.rank()), x.sizes)
                                    : BroadcastTo(slope, x.sizes);
  call.Emit(call.row().operators, {{"InputTensor", Packed(x)},
                                   {"SlopeTensor", slopes},
                                   {"OutputTensor", call.Out(0, x.type, x.sizes)}});
}

const OnnxRow kRows[] = {
    {"Abs", "7 13", "ELEMENT_WISE_ABS", Abs, "ELEMENT_WISE_IDENTITY of unsigned elements"},
    {"Acos", "7 22", "ELEMENT_WISE_ACOS", Unary},
    {"Acosh", "9 22", "ELEMENT_WISE_ACOSH", Unary},
    {"Add", "7 13 14", "ELEMENT_WISE_ADD", Binary},
    {"And", "7", "ELEMENT_WISE_LOGICAL_AND", Comparison},
    {"Asin", "7 22", "ELEMENT_WISE_ASIN", Unary},
    {"Asinh", "9 22", "ELEMENT_WISE_ASINH", Unary},
    {"Atan", "7 22", "ELEMENT_WISE_ATAN", Unary},
    {"Atanh", "9 22", "ELEMENT_WISE_ATANH", Unary},
    {"BitwiseAnd", "18", "ELEMENT_WISE_BIT_AND", Binary},
    {"BitwiseNot", "18", "ELEMENT_WISE_BIT_NOT", Unary},
    {"BitwiseOr", "18", "ELEMENT_WISE_BIT_OR", Binary},
    {"BitwiseXor", "18", "ELEMENT_WISE_BIT_XOR", Binary},
    {"Cast", "7 9 13 19 21 23 24 25", "CAST", Cast,
     "to bool: ELEMENT_WISE_LOGICAL_EQUALS, ELEMENT_WISE_LOGICAL_NOT"},
    {"CastLike", "15 19 21 23 24 25", "CAST", CastLike, "as Cast"},
    {"Ceil", "7 13", "ELEMENT_WISE_CEIL", Unary},
    {"Celu", "12 28", "ACTIVATION_CELU", Unary},
    {"Cos", "7 22", "ELEMENT_WISE_COS", Unary},
    {"Cosh", "9 22", "ELEMENT_WISE_COSH", Unary},
    {"Div", "7 13 14", "ELEMENT_WISE_DIVIDE", Binary},
    {"Elu", "7 22", "ACTIVATION_ELU", Unary},
    {"Equal", "7 11 13 19", "ELEMENT_WISE_LOGICAL_EQUALS", Comparison},
    {"Erf", "9 13", "ELEMENT_WISE_ERF", Unary},
    {"Exp", "7 13", "ELEMENT_WISE_EXP", Unary},
    {"Floor", "7 13", "ELEMENT_WISE_FLOOR", Unary},
    {"Greater", "7 9 13", "ELEMENT_WISE_LOGICAL_GREATER_THAN", Comparison},
    {"GreaterOrEqual", "12 16", "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL", Comparison},
    {"HardSigmoid", "7 22", "ACTIVATION_HARD_SIGMOID", Unary},
    {"HardSwish", "14 22", "ACTIVATION_HARD_SWISH", Unary},
    {"IsNaN", "9 13 20", "ELEMENT_WISE_IS_NAN", Predicate},
    {"LeakyRelu", "7 16", "ACTIVATION_LEAKY_RELU", Unary},
    {"Less", "7 9 13", "ELEMENT_WISE_LOGICAL_LESS_THAN", Comparison},
    {"LessOrEqual", "12 16", "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL", Comparison},
    {"Log", "7 13", "ELEMENT_WISE_LOG", Unary},
    {"Mul", "7 13 14", "ELEMENT_WISE_MULTIPLY", Binary},
    {"Neg", "7 13", "ELEMENT_WISE_NEGATE", Unary},
    {"Not", "7", "ELEMENT_WISE_LOGICAL_NOT", Predicate},
    {"Or", "7", "ELEMENT_WISE_LOGICAL_OR", Comparison},
    {"PRelu", "6 7 9 16", "ACTIVATION_PARAMETERIZED_RELU", PRelu},
    {"Reciprocal", "7 13", "ELEMENT_WISE_RECIP", Unary},
    {"Relu", "7 13 14", "ACTIVATION_RELU", Unary},
    {"Round", "11 22", "ELEMENT_WISE_ROUND", Round, "halves to even"},
    {"Selu", "7 22", "ACTIVATION_SCALED_ELU", Unary},
    {"Shrink", "9", "ACTIVATION_SHRINK", Unary},
    {"Sigmoid", "7 13", "ACTIVATION_SIGMOID", Unary},
    {"Sign", "9 13", "ELEMENT_WISE_SIGN", Unary},
    {"Sin", "7 22", "ELEMENT_WISE_SIN", Unary},
    {"Sinh", "9 22", "ELEMENT_WISE_SINH", Unary},
    {"Softplus", "7 22", "ACTIVATION_SOFTPLUS", Unary},
    {"Softsign", "7 22", "ACTIVATION_SOFTSIGN", Unary},
    {"Sqrt", "7 13", "ELEMENT_WISE_SQRT", Unary},
    {"Sub", "7 13 14", "ELEMENT_WISE_SUBTRACT", Binary},
    {"Swish", "24", "ACTIVATION_SWISH", Unary},
    {"Tan", "7 22", "ELEMENT_WISE_TAN", Unary},
    {"Tanh", "7 13", "ACTIVATION_TANH", Unary},
    {"ThresholdedRelu", "7 10 22", "ACTIVATION_THRESHOLDED_RELU", Unary},
    {"Where", "9 16", "ELEMENT_WISE_IF", Where},
    {"Xor", "7", "ELEMENT_WISE_LOGICAL_XOR", Comparison},
};

}  // namespace

extern const std::span<const OnnxRow> kOnnxRows = kRows;

}  // namespace dmlop::onnx_element_wise
