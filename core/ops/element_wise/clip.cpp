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

constexpr auto kMin = field::Float("Min");
constexpr auto kMax = field::Float("Max");
constexpr auto kMinMaxDataType = field::TypeOf("MinMaxDataType");
constexpr auto kTypedMin = field::ScalarOf("Min");
constexpr auto kTypedMax = field::ScalarOf("Max");

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

constexpr OperatorInfo Clip(std::string_view name, std::span<const Field* const> fields,
                            std::span<const SupportTable> support, ElementWise family) {
  return WithFields(fields, Unary(name, support, family));
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

constexpr OperatorInfo kOperators[] = {
    FusableClip(
        Clip("ELEMENT_WISE_CLIP", kClipFields, kSupportBy<kClipRows>, {F::kClip, SetBounds})),
    Clip("ELEMENT_WISE_CLIP1", kClip1Fields, kSupportBy<kClip1Rows>, {F::kClip, SetTypedBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD", kClipGradFields, kSupportBy<kClipGradRows>,
         {F::kClipGrad, SetBounds}),
    Clip("ELEMENT_WISE_CLIP_GRAD1", kClipGrad1Fields, kSupportBy<kClip1Rows>,
         {F::kClipGrad, SetTypedBounds}),
    Clip("ELEMENT_WISE_THRESHOLD", kThresholdFields, kSupportBy<kThresholdRows>,
         {F::kThreshold, SetMin}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::clip
