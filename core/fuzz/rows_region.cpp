// SPDX-License-Identifier: Apache-2.0
// Sizes and numbers of operators on windows and regions with rules beyond their fields' limits.

#include "core/fuzz/named_fields.h"
#include "core/fuzz/rows.h"

namespace dmlop {
namespace region_rows {
namespace {

// Usually no divisor is 0 or negative.
void DrawLocalResponse(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  const float factors[] = {1.0f, 1e-4f, 0.5f, 0.0f, 2.0f};
  const float powers[] = {0.75f, 0.5f, 1.0f, 0.0f, -1.0f, 2.5f};
  const bool is_plain = !from.OneIn(8);
  Set(op, "Alpha", is_plain ? from.OneOf(factors) : from.Factor());
  Set(op, "Beta", is_plain ? from.OneOf(powers) : static_cast<float>(from.Int(-3, 3)));
  Set(op, "Bias", is_plain ? from.OneOf(factors) : from.Factor());
}

// --- regions -------------------------------------------------------------------------------------

Sizes BehindOnes(const DescEntropy& from, size_t most, Sizes sizes) {
  const size_t rank = static_cast<size_t>(from.Between(sizes.size(), most));
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  return sizes;
}

// Adds the tensor if it is left out.

float DrawScale(const DescEntropy& from) {
  const float plain[] = {1.0f, 0.5f, 0.0625f, 0.3f, 2.0f, -1.0f};
  return from.OneIn(12) ? from.Factor() : from.OneOf(plain);
}

void DrawPooling(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  Sizes image = from.Numbers(4, 1, 7);
  image[2] = from.SmallSize(7, 17);
  image[3] = from.SmallSize(7, 33);
  SetSizes(op, "InputTensor", image);
  SetSizes(op, "ROITensor", {1, 1, from.Number(1, 4), 5});
  const Sizes pooled = from.Numbers(2, 1, 6);
  Set(op, "PooledSize", Size2d{pooled[0], pooled[1]});
  Set(op, "SpatialScale", DrawScale(from));
}

// Few samples, because the reference visits them all.
void DrawSamples(const DescEntropy& from, OperatorDesc& op) {
  constexpr uint32_t kAverage = 2;
  constexpr uint32_t kMax = 7;
  Set(op, "ReductionFunction", from.OneIn(2) ? kAverage : kMax);
  Set(op, "SpatialScaleX", DrawScale(from));
  Set(op, "SpatialScaleY", DrawScale(from));
  const uint32_t least = from.Number(1, 3);
  Set(op, "MinimumSamplesPerOutput", least);
  Set(op, "MaximumSamplesPerOutput", least + from.Number(1, 3) - 1);
  if (op.name() == "ROI_ALIGN") return;
  const float offsets[] = {0.0f, 0.5f, -0.5f, 0.25f, 1.0f};
  Set(op, "InputPixelOffset", from.OneIn(12) ? from.Factor() : from.OneOf(offsets));
  Set(op, "OutputPixelOffset", from.OneIn(12) ? from.Factor() : from.OneOf(offsets));
}

// Sets the sizes of the image, the output and one region for each output.
void DrawAlignment(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  const bool is_gradient = op.name() == "ROI_ALIGN_GRAD";
  Sizes image = from.Numbers(4, 1, 6);
  image[3] = from.SmallSize(6, 17);
  Sizes output = from.Numbers(4, 1, 3);
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

constexpr SizesRow kRows[] = {
    {"LOCAL_RESPONSE_NORMALIZATION", DrawLocalResponse},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD", DrawLocalResponse},
    {"ROI_ALIGN", DrawAlignment},
    {"ROI_ALIGN1", DrawAlignment},
    {"ROI_ALIGN_GRAD", DrawAlignment, true},
    {"ROI_POOLING", DrawPooling},
};

}  // namespace
}  // namespace region_rows

std::span<const SizesRow> RegionSizes() {
  return region_rows::kRows;
}

}  // namespace dmlop
