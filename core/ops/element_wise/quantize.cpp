// SPDX-License-Identifier: Apache-2.0
// Integers that stand for real numbers by a scale and a zero point.
#include <algorithm>
#include <cmath>

#include "core/ops/element_wise/function_formula.h"
#include "core/ops/element_wise/shared.h"
#include "core/ops/quantization.h"

namespace dmlop::quantize {
namespace {

using namespace element_wise;

constexpr DataTypes kFloat32 = {DataType::kFloat32};
constexpr DataTypes kUint8 = {DataType::kUint8};
constexpr DataTypes kInt32 = {DataType::kInt32};
constexpr auto kQ = kQuantizedType;
constexpr auto kScale = TypeVariable::kV;  // the type of scales

constexpr auto kScaleTensor = field::Input("ScaleTensor", kScale);
constexpr auto kZeroPointTensor = field::Optional(field::Input("ZeroPointTensor", kQ));

void RequireZeroPoint(const FieldOf<TensorDesc>& field, const OperatorDesc& op, Inference& infer) {
  infer.Require(op.Has(field) || infer.level() >= Level(6, 2), "QNT-5", At(field),
                "'{}' is missing; it may be left out from 6_2 on", field.name);
}

// --- QUANTIZE_LINEAR and DEQUANTIZE_LINEAR -------------------------------------------------------

void InferLinear(const OperatorDesc& op, Inference& infer) {
  InferEqualSizes("QNT-4", op, infer);
  RequireZeroPoint(kZeroPointTensor, op, infer);
}

constexpr auto kQuantized = field::Output("OutputTensor", kQ);
constexpr const Field* kQuantizeFields[] = {&kInputTensor, &kScaleTensor, &kZeroPointTensor,
                                            &kQuantized};
constexpr SupportRow kQuantizeRows[] = {
    {Level(1, 0), 4, 4, {kFloat32, kUint8, kFloat32}},
    {Level(2, 1), 4, 4, {kFloat32 | kInt32, types::kInt8s, kFloat32}},
    {Level(3, 0), 1, 8, {kFloat32 | kInt32, types::kInt8s, kFloat32}},
    {Level(6, 0), 1, 8, {kFloats | kInt32, types::kInt8s, kFloats}},
};

void InferQuantize(const OperatorDesc& op, Inference& infer) {
  InferLinear(op, infer);
  const DataType type = *op[kInputTensor].data_type;
  const DataType scale = *op[kScaleTensor].data_type;
  const DataType expected = type == DataType::kInt32 ? DataType::kFloat32 : type;
  infer.Require(scale == expected, "QNT-4", {kScaleTensor.name, std::nullopt, "DataType"},
                "{} does not go with {} of InputTensor; expected {}", Name(scale), Name(type),
                Name(expected));
  infer.OutputType(kQuantized, DataType::kUint8);
}

std::vector<ConstTensorView> QuantizeOperands(const OperatorDesc& op, InputViews inputs,
                                              ElementWiseCall& call) {
  const DataType type = *op[kQuantized].data_type;
  SetRange(type, call);
  return {inputs[0], inputs[1],
          op.Has(kZeroPointTensor) ? inputs[2] : Zeros(type, inputs[0].layout)};
}

constexpr auto kInteger = field::Input("InputTensor", kQ);
constexpr auto kReal = field::Output("OutputTensor", kScale);
constexpr const Field* kDequantizeFields[] = {&kInteger, &kScaleTensor, &kZeroPointTensor, &kReal};
constexpr DataTypes kIntegers = types::kInt32s | types::kInt16s | types::kInt8s;
constexpr SupportRow kDequantizeRows[] = {
    {Level(1, 0), 4, 4, {DataTypes{}, kUint8, kFloat32}},
    {Level(2, 1), 4, 4, {DataTypes{}, kIntegers, kFloat32}},
    {Level(3, 0), 1, 8, {DataTypes{}, kIntegers, kFloat32}},
    {Level(6, 0), 1, 8, {DataTypes{}, kIntegers, kFloats}},
};

std::vector<ConstTensorView> DequantizeOperands(const OperatorDesc& op, InputViews inputs,
                                                ElementWiseCall&) {
  return {inputs[0], inputs[1],
          op.Has(kZeroPointTensor) ? inputs[2] : Zeros(inputs[0].type, inputs[0].layout)};
}

// --- QUANTIZED_LINEAR_ADD ------------------------------------------------------------------------

// Each zero point has the type of its tensor.
constexpr auto kA = field::Input("ATensor", TypeVariable::kT);
constexpr auto kAScale = field::Input("AScaleTensor", kScale);
constexpr auto kAZeroPoint = field::Optional(field::Input("AZeroPointTensor", TypeVariable::kT));
constexpr auto kB = field::Input("BTensor", kQ);
constexpr auto kBScale = field::Input("BScaleTensor", kScale);
constexpr auto kBZeroPoint = field::Optional(field::Input("BZeroPointTensor", kQ));
constexpr auto kSumScale = field::Input("OutputScaleTensor", kScale);
constexpr auto kSumZeroPoint =
    field::Optional(field::Input("OutputZeroPointTensor", TypeVariable::kIndex));
constexpr auto kSum = field::Output("OutputTensor", TypeVariable::kIndex);
constexpr const Field* kAddFields[] = {&kA,          &kAScale,   &kAZeroPoint,   &kB,  &kBScale,
                                       &kBZeroPoint, &kSumScale, &kSumZeroPoint, &kSum};
constexpr SupportRow kAddRows[] = {
    {Level(4, 0), 1, 8, {types::kInt8s, types::kInt8s, kFloat32, types::kInt8s}},
};
constexpr const FieldOf<TensorDesc>* kOneElement[] = {&kAScale,     &kAZeroPoint, &kBScale,
                                                      &kBZeroPoint, &kSumScale,   &kSumZeroPoint};

void InferAdd(const OperatorDesc& op, Inference& infer) {
  const Sizes& sizes = op.sizes(kA);
  infer.RequireSizes("QLA-1", infer.tensor(kB), sizes);
  const Sizes one(sizes.size(), 1);
  for (const FieldOf<TensorDesc>* field : kOneElement) {
    if (op.Has(*field)) infer.RequireSizes("QLA-1", infer.tensor(*field), one);
  }
  infer.OutputType(kSum, *op[kA].data_type);
  infer.Output("QLA-1", kSum, sizes);
}

std::vector<ConstTensorView> AddOperands(const OperatorDesc& op, InputViews inputs,
                                         ElementWiseCall& call) {
  SetRange(*op[kSum].data_type, call);
  size_t number = 2;
  for (const FieldOf<TensorDesc>* field : kOneElement) {
    const std::vector<double> numbers = quantization::NumbersOf(op, inputs, *field);
    call.parameters.numbers[number++] = numbers.empty() ? 0 : numbers[0];
  }
  return {inputs[0], inputs[op.Has(kAZeroPoint) ? 3 : 2]};
}

FormulaNode AddMeaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  const std::vector<SourceMap> sources = SourcesOf(op);
  const auto at = [&](const Field& field) {
    const auto slot = std::ranges::find(slots, &field, &TensorSlot::field);
    if (slot == slots.end()) return formula.Number(0);
    return formula.Element(*sources[static_cast<size_t>(slot - slots.begin())](element));
  };
  const auto real = [&](const Field& x, const Field& scale, const Field& zero_point) {
    return formula.Product({FromZeroPoint(at(x), at(zero_point), formula), at(scale)});
  };
  const FormulaNode sum =
      formula.Sum({real(kA, kAScale, kAZeroPoint), real(kB, kBScale, kBZeroPoint)});
  return Quantized(formula.Named("real value", sum), at(kSumScale), at(kSumZeroPoint),
                   *op[kSum].data_type, formula);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("ELEMENT_WISE_QUANTIZE_LINEAR",
                {kQuantizeFields, kSupportBy<kQuantizeRows>, "QNT-4", InferQuantize},
                ElementWise{.function = F::kQuantize, .operands = QuantizeOperands},
                {.hardware_tolerance = Ulp<1>}),
    OperatorRow("ELEMENT_WISE_DEQUANTIZE_LINEAR",
                {kDequantizeFields, kSupportBy<kDequantizeRows>, "QNT-4", InferLinear},
                ElementWise{.function = F::kDequantize, .operands = DequantizeOperands},
                {.hardware_tolerance = Ulp<1>}),
    OperatorRow(
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD", {kAddFields, kSupportBy<kAddRows>, "QLA-2", InferAdd},
        ElementWise{
            .function = F::kQuantizedLinearAdd, .operands = AddOperands, .formula = AddMeaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::quantize

// --- shared with the rows of blocks --------------------------------------------------------------

namespace dmlop::element_wise {
namespace {

// Returns a view that repeats one element.
ConstTensorView Repeated(const ElementBytes& element, DataType type, const Layout& like) {
  return {element.data(), type, {like.sizes, Dims::Filled(like.sizes.size(), 0)}};
}

}  // namespace

void SetRange(DataType type, ElementWiseCall& call) {
  const double count = std::ldexp(1.0, static_cast<int>(BitWidth(type)));
  const double min = IsSigned(type) ? -count / 2 : 0;
  call.parameters.numbers[0] = min;
  call.parameters.numbers[1] = min + count - 1;
}

ConstTensorView Zeros(DataType type, const Layout& like) {
  static constexpr ElementBytes kZero{};
  return Repeated(kZero, type, like);
}

ConstTensorView Middles(DataType type, const Layout& like) {
  static constexpr ElementBytes kOf4Bits{std::byte{8}};
  static constexpr ElementBytes kOf8Bits{std::byte{128}};
  if (IsSigned(type)) return Zeros(type, like);
  return Repeated(HasNibbles(type) ? kOf4Bits : kOf8Bits, type, like);
}

}  // namespace dmlop::element_wise
