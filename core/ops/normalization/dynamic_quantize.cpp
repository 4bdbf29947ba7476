// DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC.
#include "core/engine/normalization/dynamic_quantize.h"

#include <numeric>

#include "core/ops/normalization/shared.h"

namespace dmlop::dynamic_quantize {
namespace {

using namespace normalization;

constexpr auto kIntegers =
    field::Output("OutputTensor", TypeVariable::kU).Means(meaning::kOutputTensor);
constexpr auto kScale =
    field::Output("OutputScaleTensor", TypeVariable::kV).Means(meaning::kOutputScaleTensor);
constexpr auto kZeroPoint =
    field::Output("OutputZeroPointTensor", TypeVariable::kU).Means(meaning::kOutputZeroPointTensor);
constexpr const Field* kFields[] = {&kInputTensor, &kIntegers, &kScale, &kZeroPoint};
constexpr SupportRow kRows[] = {
    {Level(4, 0), 1, 8, {types::kFloats, types::kInt8s, DataTypeSet{DataType::kFloat32}}},
};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"DQL-1",
     "all tensors have one DimensionCount, output and zero point one DataType; scale and zero "
     "point have one element"},
    {"DQL-2", "the output has the input's Sizes"},
};

void Infer(const OperatorDesc& op, Inference& infer) {
  const Sizes& sizes = op.sizes(kInputTensor);
  const Sizes one(sizes.size(), 1);
  infer.OutputType(kIntegers, DataType::kUint8);
  infer.OutputType(kZeroPoint, *op[kIntegers].data_type);
  infer.OutputType(kScale, DataType::kFloat32);
  infer.Output("DQL-2", kIntegers, sizes);
  infer.Output("DQL-1", kScale, one);
  infer.Output("DQL-1", kZeroPoint, one);
}

void Run(const OperatorDesc&, InputViews inputs, OutputViews outputs) {
  QuantizeDynamically(inputs[0], {outputs[0], outputs[1], outputs[2]});
}

std::vector<uint32_t> AllOf(const OperatorDesc& op) {
  std::vector<uint32_t> all(op.sizes(kInputTensor).size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return {SliceOfInput(op, 0, AllOf(op))};
}

constexpr OperatorInfo kOperators[] = {
    {.name = "DYNAMIC_QUANTIZE_LINEAR",
     .summary = "round(x / scale) + zero point, by a scale and a zero point that suit the input",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "DQL-1",
     .rules = kRules,
     .infer = Infer,
     .family = Custom{Run, Sources, AllOf}},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::dynamic_quantize
