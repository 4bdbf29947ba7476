// SPDX-License-Identifier: Apache-2.0
// VALUE_SCALE_2D and FILL_VALUE_SEQUENCE: products with a number, and sums.
#include "core/ops/element_wise/shared.h"

namespace dmlop::affine {
namespace {

using namespace element_wise;

// --- VALUE_SCALE_2D ------------------------------------------------------------------------------

constexpr auto kScale = field::Float("Scale").Means("The factor of each element.");
constexpr auto kChannelCount = field::Count("ChannelCount").Means("The length of Bias, 1 or 3.");
constexpr auto kBias =
    field::Floats("Bias").Means("A number for each channel, which is added behind the factor.");
constexpr const Field* kScaleFields[] = {&kInputTensor, &kOutputTensor, &kScale, &kChannelCount,
                                         &kBias};
constexpr SupportRow kScaleRows[] = {{Level(1, 0), 4, 4, {kFloats}}};
constexpr Rule kScaleRules[] = {
    kSame,
    {"VS2D-2", "there are 1 or 3 channels, in dimension 1, and as many biases"},
};

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

constexpr auto kValueDataType = field::TypeOf("ValueDataType").Means(meaning::kValueDataType);
constexpr auto kValueStart = field::ScalarOf("ValueStart").Means("The first element.");
constexpr auto kValueDelta = field::Wrapping(field::ScalarOf("ValueDelta"))
                                 .Means(
                                     "The difference between an element and the one before it, "
                                     "which may be negative for unsigned types, too.");
constexpr const Field* kSequenceFields[] = {&kOutputTensor, &kValueDataType, &kValueStart,
                                            &kValueDelta};
constexpr SupportRow kSequenceRows[] = {
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(4, 0), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};
constexpr Rule kSequenceRules[] = {
    {"ELW-4", "ValueDataType is the output's DataType"},
    {"UNI-1", "ValueStart and ValueDelta are numbers of that type"},
    {"UNI-2", "a member of the union goes with that type"},
};

// The output's sizes follow from nothing else.
void InferSequence(const OperatorDesc&, Inference&) {}

void SetSequence(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters =
      TypedBounds(*op[kOutputTensor].data_type, op[kValueStart].bytes, op[kValueDelta].bytes);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("VALUE_SCALE_2D", "Scale * x + Bias, with a bias for each channel",
                {kScaleFields, kSupportBy<kScaleRows>, "ELW-1", kScaleRules, InferScale},
                ElementWise{.function = F::kMultiplyAdd, .operands = ScaleOperands}),
    OperatorRow(
        "FILL_VALUE_SEQUENCE", "ValueStart + k * ValueDelta for element number k",
        {kSequenceFields, kSupportBy<kSequenceRows>, "ELW-4", kSequenceRules, InferSequence},
        ElementWise{F::kSequence, SetSequence}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::affine
