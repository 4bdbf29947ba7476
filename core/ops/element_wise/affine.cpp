// SPDX-License-Identifier: Apache-2.0
// VALUE_SCALE_2D and FILL_VALUE_SEQUENCE: products with a number, and sums.
#include "core/ops/element_wise/shared.h"

namespace dmlop::affine {
namespace {

using namespace element_wise;

// --- VALUE_SCALE_2D ------------------------------------------------------------------------------

constexpr auto kScale = field::Float("Scale");
constexpr auto kChannelCount = field::Count("ChannelCount");
constexpr auto kBias = field::Floats("Bias");
constexpr const Field* kScaleFields[] = {&kInputTensor, &kOutputTensor, &kScale, &kChannelCount,
                                         &kBias};
constexpr SupportRow kScaleRows[] = {{Level(1, 0), 4, 4, {kFloats}}};

void InferScale(const OperatorDesc& op, Inference& infer) {
  Infer(op, infer);
  const size_t count = op[kBias].size();
  infer.Require(count == 1 || count == 3, "VS2D-2", At(kBias),
                "{} biases; expected 1 or 3, one for each channel", count);
  const Sizes& sizes = op.sizes(kInputTensor);
  if (sizes.size() != 4) return;  // no level allows that
  infer.Require(sizes[1] == count, "VS2D-2", SizeAt(infer.tensor(kInputTensor), 1),
                "{} channels do not match {} biases", sizes[1], count);
}

std::vector<ConstTensorView> ScaleOperands(const OperatorDesc& op, InputViews inputs,
                                           ElementWiseCall& call) {
  call.parameters.numbers[0] = static_cast<double>(op[kScale]);
  const auto* biases = reinterpret_cast<const std::byte*>(op[kBias].data());
  return {inputs[0], {biases, DataType::kFloat32, {inputs[0].layout.sizes, {0, 1, 0, 0}}}};
}

// --- FILL_VALUE_SEQUENCE -------------------------------------------------------------------------

constexpr auto kValueDataType = field::TypeOf("ValueDataType");
constexpr auto kValueStart = field::ScalarOf("ValueStart");
constexpr auto kValueDelta = field::Wrapping(field::ScalarOf("ValueDelta"));
constexpr const Field* kSequenceFields[] = {&kOutputTensor, &kValueDataType, &kValueStart,
                                            &kValueDelta};
constexpr SupportRow kSequenceRows[] = {
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(4, 0), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};

// The output's sizes follow from nothing else.
void InferSequence(const OperatorDesc&, Inference&) {}

void SetSequence(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters =
      TypedBounds(*op[kOutputTensor].data_type, op[kValueStart].bytes, op[kValueDelta].bytes);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("VALUE_SCALE_2D", {kScaleFields, kSupportBy<kScaleRows>, "ELW-1", InferScale},
                ElementWise{.function = F::kMultiplyAdd, .operands = ScaleOperands}),
    OperatorRow("FILL_VALUE_SEQUENCE",
                {kSequenceFields, kSupportBy<kSequenceRows>, "ELW-4", InferSequence},
                ElementWise{F::kSequence, SetSequence}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::affine
