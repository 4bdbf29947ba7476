// SPDX-License-Identifier: Apache-2.0
// QUANTIZE and DEQUANTIZE, whose scales and zero points apply to blocks of elements.
#include "core/ops/element_wise/shared.h"

namespace dmlop::quantize_blocks {
namespace {

using namespace element_wise;

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

constexpr DataTypes kQuantizedTypes = types::kInt8s | DataTypes{DataType::kInt4, DataType::kUint4};
constexpr SupportRow kRows[] = {{Level(6, 3), 1, 8, {kFloats, kQuantizedTypes}}};

constexpr auto kQuantized = field::Output("OutputTensor", kQuantizedType);
constexpr const Field* kQuantizeFields[] = {&kInputTensor, &kQuantizationType,
                                            &kQuantizationTensorCount, &kParameters, &kQuantized};

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

constexpr auto kInteger = field::Input("InputTensor", kQuantizedType);
constexpr const Field* kDequantizeFields[] = {
    &kInteger, &kQuantizationType, &kQuantizationTensorCount, &kParameters, &kOutputTensor};

void InferDequantize(const OperatorDesc& op, Inference& infer) {
  CheckParameters(op, infer.tensor(kInteger), infer);
  infer.Output("QZ-1", kOutputTensor, op.sizes(kInteger));
}

std::vector<ConstTensorView> DequantizeOperands(const OperatorDesc& op, InputViews inputs,
                                                ElementWiseCall&) {
  return {inputs[0], inputs[1], ZeroPoints(op, inputs, inputs[0].type)};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("QUANTIZE", {kQuantizeFields, kSupportBy<kRows>, "QZ-3", InferQuantize},
                ElementWise{.function = F::kQuantize, .operands = QuantizeOperands},
                {.hardware_tolerance = Ulp<1>}),
    OperatorRow("DEQUANTIZE", {kDequantizeFields, kSupportBy<kRows>, "QZ-3", InferDequantize},
                ElementWise{.function = F::kDequantize, .operands = DequantizeOperands},
                {.hardware_tolerance = Ulp<1>}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::quantize_blocks
