// SPDX-License-Identifier: Apache-2.0
// Bounds, and gradients of bounded functions.
#include "core/ops/element_wise/shared.h"

namespace dmlop::clip {
namespace {

using namespace element_wise;

constexpr SupportRow kThresholdRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
};
constexpr SupportRow kClipRows[] = {
    {Level(1, 0), 4, 4, {kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 0), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};
constexpr SupportRow kClip1Rows[] = {{Level(5, 0), 1, 8, {kUpTo64}}};
constexpr SupportRow kClipGradRows[] = {
    {Level(3, 1), 1, 8, {types::kUpTo32}},
    {Level(5, 0), 1, 8, {kUpTo64}},
};

// --- bounds --------------------------------------------------------------------------------------

constexpr auto kMin = field::Float("Min").Means(meaning::kMin);
constexpr auto kMax = field::Float("Max").Means(meaning::kMax);
constexpr auto kMinMaxDataType =
    field::TypeOf("MinMaxDataType")
        .Means("The data type of Min and Max, which is that of the tensors.");
constexpr auto kTypedMin = field::ScalarOf("Min").Means(meaning::kMin);
constexpr auto kTypedMax = field::ScalarOf("Max").Means(meaning::kMax);

void SetMin(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters = FloatBounds(*op[kInputTensor].data_type, op[kMin], op[kMin]);
}

void SetBounds(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters = FloatBounds(*op[kInputTensor].data_type, op[kMin], op[kMax]);
}

void SetTypedBounds(const OperatorDesc& op, ElementWiseCall& call) {
  call.parameters =
      TypedBounds(*op[kInputTensor].data_type, op[kTypedMin].bytes, op[kTypedMax].bytes);
}

// --- functions of an element ---------------------------------------------------------------------

constexpr const Field* kThresholdFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias, &kMin};
constexpr const Field* kClipFields[] = {&kInputTensor, &kOutputTensor, &kScaleBias, &kMin, &kMax};
constexpr const Field* kClip1Fields[] = {&kInputTensor,    &kOutputTensor, &kScaleBias,
                                         &kMinMaxDataType, &kTypedMin,     &kTypedMax};
constexpr Rule kTypedBound = {"ELW-4", "MinMaxDataType is the tensors' DataType"};
constexpr Rule kNumber = {"UNI-1", "Min and Max are numbers of that type"};
constexpr Rule kMember = {"UNI-2", "a member of the union goes with that type"};
constexpr Rule kClip1Rules[] = {kSame, kNoScale64, kTypedBound, kNumber, kMember};

constexpr OperatorInfo Clip(std::string_view name, std::string_view summary,
                            std::span<const Field* const> fields,
                            std::span<const SupportTable> support, std::span<const Rule> rules,
                            ElementWise family) {
  return WithRules(rules, WithFields(fields, Unary(name, summary, support, family)));
}

// Only products of matrices and convolutions can fuse these.
constexpr OperatorInfo FusableClip(OperatorInfo info) {
  info.fusable = {static_cast<uint8_t>(HostBit(ActivationHost::kMatrices) |
                                       HostBit(ActivationHost::kConvolution)),
                  Level(6, 0)};
  return info;
}

// --- gradients -----------------------------------------------------------------------------------

constexpr const Field* kClipGradFields[] = {&kInputTensor, &kInputGradient, &kOutputGradient, &kMin,
                                            &kMax};
constexpr const Field* kClipGrad1Fields[] = {&kInputTensor,    &kInputGradient, &kOutputGradient,
                                             &kMinMaxDataType, &kTypedMin,      &kTypedMax};
constexpr Rule kClipGrad1Rules[] = {kSame, kTypedBound, kNumber, kMember};

constexpr OperatorInfo kOperators[] = {
    FusableClip(Clip("ELEMENT_WISE_CLIP", "each element, between two numbers", kClipFields,
                     kSupportBy<kClipRows>, kScaledRules, {F::kClip, SetBounds})),
    Clip("ELEMENT_WISE_CLIP1", "each element, between two numbers of its type", kClip1Fields,
         kSupportBy<kClip1Rows>, kClip1Rules, {F::kClip, SetTypedBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD", "the gradient, where an element lies between two numbers",
         kClipGradFields, kSupportBy<kClipGradRows>, kSameRules, {F::kClipGrad, SetBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD1",
         "the gradient, where an element lies between two numbers of its type", kClipGrad1Fields,
         kSupportBy<kClip1Rows>, kClipGrad1Rules, {F::kClipGrad, SetTypedBounds}),
    Clip("ELEMENT_WISE_THRESHOLD", "each element, at least a number", kThresholdFields,
         kSupportBy<kThresholdRows>, kSameRules, {F::kThreshold, SetMin}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::clip
