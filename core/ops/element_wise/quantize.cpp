// SPDX-License-Identifier: Apache-2.0
// Operators between numbers and quantized ones, with a scale for each element or for blocks.
#include <algorithm>
#include <cmath>

#include "core/ops/element_wise/function_formula.h"
#include "core/ops/element_wise/row_makers.h"
#include "core/ops/quantization.h"

namespace dmlop::quantize {
namespace {

using namespace element_wise;

constexpr auto kQuantizedType = TypeVariable::kU;

// Returns a view that repeats one element.
ConstTensorView Repeated(const ElementBytes& element, DataType type, const Layout& like) {
  return {element.data(), type, {like.sizes, Dims::Filled(like.sizes.size(), 0)}};
}

// Sets the bounds of a function to the range of an integer type.
void SetRange(DataType type, ElementWiseCall& call) {
  const double count = std::ldexp(1.0, static_cast<int>(BitWidth(type)));
  const double min = IsSigned(type) ? -count / 2 : 0;
  call.parameters.numbers[0] = min;
  call.parameters.numbers[1] = min + count - 1;
}

// Zeros for every element of a layout, in place of zero points.
ConstTensorView Zeros(DataType type, const Layout& like) {
  static constexpr ElementBytes kZero{};
  return Repeated(kZero, type, like);
}

// Likewise, but the middle of the range of an unsigned type; 0 for a signed one.
ConstTensorView Middles(DataType type, const Layout& like) {
  static constexpr ElementBytes kOf4Bits{std::byte{8}};
  static constexpr ElementBytes kOf8Bits{std::byte{128}};
  if (IsSigned(type)) return Zeros(type, like);
  return Repeated(HasNibbles(type) ? kOf4Bits : kOf8Bits, type, like);
}

constexpr auto kScaleType = TypeVariable::kV;  // the type of scales

constexpr auto kScaleTensor = field::Input("ScaleTensor", kScaleType);
constexpr auto kZeroPointTensor = field::Optional(field::Input("ZeroPointTensor", kQuantizedType));

void RequireZeroPoint(const FieldOf<TensorDesc>& field, const OperatorDesc& op, Inference& infer) {
  infer.Require(op.Has(field) || infer.level() >= Level(6, 2), "QNT-5", At(field),
                "'{}' is missing; it may be left out from 6_2 on", field.name);
}

// --- QUANTIZE_LINEAR and DEQUANTIZE_LINEAR -------------------------------------------------------

void InferLinear(const OperatorDesc& op, Inference& infer) {
  InferEqualSizes("QNT-4", op, infer);
  RequireZeroPoint(kZeroPointTensor, op, infer);
}

constexpr auto kQuantized = field::Output("OutputTensor", kQuantizedType);
constexpr auto kQuantizeLinearFields =
    Fields(kInputTensor, kScaleTensor, kZeroPointTensor, kQuantized);

void InferQuantizeLinear(const OperatorDesc& op, Inference& infer) {
  InferLinear(op, infer);
  const DataType type = *op[kInputTensor].data_type;
  const DataType scale = *op[kScaleTensor].data_type;
  const DataType expected = type == DataType::kInt32 ? DataType::kFloat32 : type;
  infer.Require(scale == expected, "QNT-4", {kScaleTensor.name, std::nullopt, "DataType"},
                "{} does not go with {} of InputTensor; expected {}", Name(scale), Name(type),
                Name(expected));
  infer.OutputType(kQuantized, DataType::kUint8);
}

std::vector<ConstTensorView> QuantizeLinearOperands(const OperatorDesc& op, InputViews inputs,
                                                    ElementWiseCall& call) {
  const DataType type = *op[kQuantized].data_type;
  SetRange(type, call);
  return {inputs[0], inputs[1],
          op.Has(kZeroPointTensor) ? inputs[2] : Zeros(type, inputs[0].layout)};
}

constexpr auto kInteger = field::Input("InputTensor", kQuantizedType);
constexpr auto kReal = field::Output("OutputTensor", kScaleType);
constexpr auto kDequantizeLinearFields = Fields(kInteger, kScaleTensor, kZeroPointTensor, kReal);

std::vector<ConstTensorView> DequantizeLinearOperands(const OperatorDesc& op, InputViews inputs,
                                                      ElementWiseCall&) {
  return {inputs[0], inputs[1],
          op.Has(kZeroPointTensor) ? inputs[2] : Zeros(inputs[0].type, inputs[0].layout)};
}

// --- QUANTIZED_LINEAR_ADD ------------------------------------------------------------------------

// Each zero point has the type of its tensor.
constexpr auto kA = field::Input("ATensor", TypeVariable::kT);
constexpr auto kAScale = field::Input("AScaleTensor", kScaleType);
constexpr auto kAZeroPoint = field::Optional(field::Input("AZeroPointTensor", TypeVariable::kT));
constexpr auto kB = field::Input("BTensor", kQuantizedType);
constexpr auto kBScale = field::Input("BScaleTensor", kScaleType);
constexpr auto kBZeroPoint = field::Optional(field::Input("BZeroPointTensor", kQuantizedType));
constexpr auto kSumScale = field::Input("OutputScaleTensor", kScaleType);
constexpr auto kSumZeroPoint =
    field::Optional(field::Input("OutputZeroPointTensor", TypeVariable::kIndex));
constexpr auto kSum = field::Output("OutputTensor", TypeVariable::kIndex);
constexpr auto kAddFields =
    Fields(kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kSumScale, kSumZeroPoint, kSum);
constexpr const FieldOf<TensorDesc>* kOneElement[] = {&kAScale,     &kAZeroPoint, &kBScale,
                                                      &kBZeroPoint, &kSumScale,   &kSumZeroPoint};

constexpr std::string_view kOne = "{1..}";
constexpr TensorShape kAddTensors[] = {
    {&kA, "{S..}"},       {&kB, "{S..}"},         {&kAScale, kOne},
    {&kAZeroPoint, kOne}, {&kBScale, kOne},       {&kBZeroPoint, kOne},
    {&kSumScale, kOne},   {&kSumZeroPoint, kOne}, {&kSum, "{S..}"},
};
constexpr Signature kAddShapes = {"QLA-1", "QLA-1", kAddTensors};

void InferAdd(const OperatorDesc& op, Inference& infer) {
  infer.OutputType(kSum, *op[kA].data_type);
  InferShapes(kAddShapes, op, infer);
}

std::vector<ConstTensorView> AddOperands(const OperatorDesc& op, InputViews inputs,
                                         ElementWiseCall& call) {
  SetRange(*op[kSum].data_type, call);
  const FieldViews tensors(op, inputs, {});
  size_t number = 2;
  for (const FieldOf<TensorDesc>* field : kOneElement) {
    const std::vector<double> numbers = quantization::NumbersOf(tensors.input(*field));
    call.parameters.numbers[number++] = numbers.empty() ? 0 : numbers[0];
  }
  return {tensors.input(kA), tensors.input(kB)};
}

FormulaNode AddMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::vector<SourceMap> sources = SourcesOf(op);
  const auto at = [&](const Field& field) {
    const std::optional<size_t> input = NumberInRole(op, field);
    return input ? formula.Element(*sources[*input](element)) : formula.Number(0);
  };
  const auto real = [&](const Field& x, const Field& scale, const Field& zero_point) {
    return formula.Product({FromZeroPoint(at(x), at(zero_point), formula), at(scale)});
  };
  const FormulaNode sum =
      formula.Sum({real(kA, kAScale, kAZeroPoint), real(kB, kBScale, kBZeroPoint)});
  return Quantized(formula.Named("real value", sum), at(kSumScale), at(kSumZeroPoint),
                   *op[kSum].data_type, formula);
}

constexpr std::string_view kQuantizationTypeNames[] = {"NONE", "SCALE", "SCALE_ZERO_POINT"};
enum QuantizationType : uint32_t { kNone, kScale, kScaleZeroPoint };

constexpr auto kQuantizationType =
    field::Enum("QuantizationType", {"DML_QUANTIZATION_TYPE_", kQuantizationTypeNames});
constexpr auto kQuantizationTensorCount = field::Count("QuantizationTensorCount");

// A scale with the type of the real numbers, and a zero point with that of the quantized ones.
constexpr FieldOf<std::vector<TensorDesc>> Parameters() {
  auto parameters = field::Tensors("QuantizationTensors", TensorRole::kInput, "QZ-2");
  parameters.other_entries = kQuantizedType;
  parameters.limits.max_count = 2;
  return parameters;
}
constexpr auto kParameters = Parameters();

void CheckBlocks(const TensorAt& tensor, const Sizes& sizes, Inference& infer) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    const uint32_t count = tensor.sizes()[d];
    if (count == 0) continue;  // another rule reports it
    infer.Require(sizes[d] % count == 0, "QZ-4", SizeAt(tensor, d),
                  "{} blocks do not divide InputTensor's size of {}", count, sizes[d]);
  }
}

void CheckParameters(const OperatorDesc& op, const TensorAt& input, Inference& infer) {
  const uint32_t type = op[kQuantizationType];
  const size_t count = op[kParameters].size();
  if (!infer.Require(type != kNone, "QZ-2", At(kQuantizationType),
                     "NONE is not allowed; expected SCALE or SCALE_ZERO_POINT") ||
      !infer.Require(count == type, "QZ-2", At(kParameters), "{}, not {}",
                     type == kScale ? "SCALE takes 1 tensor, a scale"
                                    : "SCALE_ZERO_POINT takes 2 tensors, a scale and a zero point",
                     count)) {
    return;
  }
  const TensorAt scale = infer.tensor(kParameters, 0);
  if (infer.RequireSameRank("QZ-1", scale, input)) CheckBlocks(scale, input.sizes(), infer);
  if (type == kScale) return;
  const TensorAt zero_point = infer.tensor(kParameters, 1);
  if (infer.RequireSameRank("QZ-1", zero_point, input)) {
    infer.RequireSizes("QZ-4", zero_point, scale.sizes());
  }
}

// Returns the zero points; without any, they are in the middle of the type's range.
ConstTensorView ZeroPoints(const OperatorDesc& op, InputViews inputs, DataType type) {
  return op[kQuantizationType] == kScaleZeroPoint ? inputs[2] : Middles(type, inputs[0].layout);
}

// --- QUANTIZE ------------------------------------------------------------------------------------

constexpr auto kQuantizeFields =
    Fields(kInputTensor, kQuantizationType, kQuantizationTensorCount, kParameters, kQuantized);

void InferQuantize(const OperatorDesc& op, Inference& infer) {
  CheckParameters(op, infer.tensor(kInputTensor), infer);
  infer.Output("QZ-1", kQuantized, op.sizes(kInputTensor));
  infer.OutputType(kQuantized, DataType::kUint8);
}

std::vector<ConstTensorView> QuantizeOperands(const OperatorDesc& op, InputViews inputs,
                                              ElementWiseCall& call) {
  const DataType type = *op[kQuantized].data_type;
  SetRange(type, call);
  return {inputs[0], inputs[1], ZeroPoints(op, inputs, type)};
}

// --- DEQUANTIZE ----------------------------------------------------------------------------------

constexpr auto kDequantizeFields =
    Fields(kInteger, kQuantizationType, kQuantizationTensorCount, kParameters, kOutputTensor);

void InferDequantize(const OperatorDesc& op, Inference& infer) {
  CheckParameters(op, infer.tensor(kInteger), infer);
  infer.Output("QZ-1", kOutputTensor, op.sizes(kInteger));
}

std::vector<ConstTensorView> DequantizeOperands(const OperatorDesc& op, InputViews inputs,
                                                ElementWiseCall&) {
  return {inputs[0], inputs[1], ZeroPoints(op, inputs, inputs[0].type)};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ELEMENT_WISE_QUANTIZE_LINEAR",
                {kQuantizeLinearFields, "QNT-4", InferQuantizeLinear},
                ElementWise{.function = F::kQuantize, .operands = QuantizeLinearOperands},
                {.hardware_tolerance = Ulp<1>}),
    OperatorRow("ELEMENT_WISE_DEQUANTIZE_LINEAR", {kDequantizeLinearFields, "QNT-4", InferLinear},
                ElementWise{.function = F::kDequantize, .operands = DequantizeLinearOperands},
                {.hardware_tolerance = Ulp<1>}),
    OperatorRow(
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", {kAddFields, "QLA-2", InferAdd, &kAddShapes},
        ElementWise{
            .function = F::kQuantizedLinearAdd, .operands = AddOperands, .formula = AddMeaning}),
    OperatorRow("QUANTIZE", {kQuantizeFields, "QZ-3", InferQuantize},
                ElementWise{.function = F::kQuantize, .operands = QuantizeOperands},
                {.hardware_tolerance = Ulp<1>}),
    OperatorRow("DEQUANTIZE", {kDequantizeFields, "QZ-3", InferDequantize},
                ElementWise{.function = F::kDequantize, .operands = DequantizeOperands},
                {.hardware_tolerance = Ulp<1>}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::quantize
