// SPDX-License-Identifier: Apache-2.0
// Sizes and numbers of operators on windows and regions with rules beyond their fields' limits.

#include "tests/support/desc.h"
#include "tests/support/linked_sizes.h"
#include "tests/support/random_desc.h"

namespace dmlop {
namespace {

using Sizes = std::vector<uint32_t>;

// Usually no divisor is 0 or negative.
void DrawLocalResponse(const Entropy& from, const Sizes&, OperatorDesc& op) {
  const float factors[] = {1.0f, 1e-4f, 0.5f, 0.0f, 2.0f};
  const float powers[] = {0.75f, 0.5f, 1.0f, 0.0f, -1.0f, 2.5f};
  const bool is_plain = !from.OneIn(8);
  Set(op, "Alpha", is_plain ? from.OneOf(factors) : RandomFactor(from));
  Set(op, "Beta", is_plain ? from.OneOf(powers) : static_cast<float>(from.Int(-3, 3)));
  Set(op, "Bias", is_plain ? from.OneOf(factors) : RandomFactor(from));
}

// --- regions -------------------------------------------------------------------------------------

Sizes Numbers(const Entropy& from, size_t count, uint32_t most) {
  Sizes sizes;
  while (sizes.size() < count) sizes.push_back(static_cast<uint32_t>(from.Between(1, most)));
  return sizes;
}

Sizes BehindOnes(const Entropy& from, size_t most, Sizes sizes) {
  const size_t rank = static_cast<size_t>(from.Between(sizes.size(), most));
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  return sizes;
}

// Adds the tensor if it is left out.
void SetSizes(OperatorDesc& op, std::string_view tensor, const Sizes& sizes) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->name == tensor && !op.Has(*field)) op.AddTensor(*field);
  }
  std::get<TensorDesc>(ValueOf(op, tensor)).sizes = sizes;
}

float DrawScale(const Entropy& from) {
  const float plain[] = {1.0f, 0.5f, 0.0625f, 0.3f, 2.0f, -1.0f};
  return from.OneIn(12) ? RandomFactor(from) : from.OneOf(plain);
}

void DrawPooling(const Entropy& from, const Sizes&, OperatorDesc& op) {
  SetSizes(op, "InputTensor", Numbers(from, 4, 7));
  SetSizes(op, "ROITensor", {1, 1, Numbers(from, 1, 4)[0], 5});
  const Sizes pooled = Numbers(from, 2, 6);
  Set(op, "PooledSize", Size2d{pooled[0], pooled[1]});
  Set(op, "SpatialScale", DrawScale(from));
}

// Few samples, because the reference visits them all.
void DrawSamples(const Entropy& from, OperatorDesc& op) {
  constexpr uint32_t kAverage = 2;
  constexpr uint32_t kMax = 7;
  Set(op, "ReductionFunction", from.OneIn(2) ? kAverage : kMax);
  Set(op, "SpatialScaleX", DrawScale(from));
  Set(op, "SpatialScaleY", DrawScale(from));
  const uint32_t least = Numbers(from, 1, 3)[0];
  Set(op, "MinimumSamplesPerOutput", least);
  Set(op, "MaximumSamplesPerOutput", least + Numbers(from, 1, 3)[0] - 1);
  if (op.name() == "ROI_ALIGN") return;
  const float offsets[] = {0.0f, 0.5f, -0.5f, 0.25f, 1.0f};
  Set(op, "InputPixelOffset", from.OneIn(12) ? RandomFactor(from) : from.OneOf(offsets));
  Set(op, "OutputPixelOffset", from.OneIn(12) ? RandomFactor(from) : from.OneOf(offsets));
}

// Sets the sizes of the image, the output and one region for each output.
void DrawAlignment(const Entropy& from, const Sizes&, OperatorDesc& op) {
  const bool is_gradient = op.name() == "ROI_ALIGN_GRAD";
  const Sizes image = Numbers(from, 4, 6);
  Sizes output = Numbers(from, 4, 3);
  output[1] = image[1];
  DrawSamples(from, op);
  SetSizes(op, "ROITensor", BehindOnes(from, 4, {output[0], 4}));
  SetSizes(op, "BatchIndicesTensor", BehindOnes(from, 4, {output[0]}));
  SetSizes(op, is_gradient ? "InputGradientTensor" : "OutputTensor", output);
  if (!is_gradient) return SetSizes(op, "InputTensor", image);
  if (from.OneIn(4)) {
    Set(op, "ReductionFunction", uint32_t{2});
    return SetSizes(op, "OutputGradientTensor", image);
  }
  SetSizes(op, "InputTensor", image);
  if (from.OneIn(2)) SetSizes(op, "OutputROIGradientTensor", BehindOnes(from, 4, {output[0], 4}));
  if (from.OneIn(2)) SetSizes(op, "OutputGradientTensor", image);
}

constexpr LinkedSizes kRows[] = {
    {"LOCAL_RESPONSE_NORMALIZATION", DrawLocalResponse},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD", DrawLocalResponse},
    {"ROI_ALIGN", DrawAlignment},
    {"ROI_ALIGN1", DrawAlignment},
    {"ROI_ALIGN_GRAD", DrawAlignment, true},
    {"ROI_POOLING", DrawPooling},
};

}  // namespace

std::span<const LinkedSizes> RegionSizes() {
  return kRows;
}

}  // namespace dmlop
