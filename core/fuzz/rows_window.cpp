// SPDX-License-Identifier: Apache-2.0
// Sizes of poolings, with their windows, of operators on regions, and of normalizations.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/fuzz/field_value.h"
#include "core/fuzz/random_desc.h"

namespace dmlop {
namespace {

// --- poolings ------------------------------------------------------------------------------------

// Draws few taps usually; paddings may be longer than windows.
void DrawPoolingWindows(const DescEntropy& from, size_t count, OperatorDesc& op) {
  const bool is_wide = from.OneIn(6);
  Set(op, "WindowSize", from.Numbers(count, 1, is_wide ? 9 : 3));
  Set(op, "Strides", from.Few(count, from.OneIn(3) ? 1 : 3, 9));
  const uint64_t padding = from.OneIn(3) ? 0 : from.OneIn(5) ? 9 : 2;
  Set(op, "StartPadding", from.Numbers(count, 0, padding));
  Set(op, "EndPadding", from.Numbers(count, 0, padding));
  if (HasField(op, "Dilations")) Set(op, "Dilations", from.Few(count, 3, 7));
}

// The sizes that windows make of a tensor's sizes, perhaps one more if there is a remainder.
Sizes Pooled(const DescEntropy& from, const OperatorDesc& op, const Sizes& sizes) {
  const auto number = [&](std::string_view field, size_t d) {
    return int64_t{Get<Sizes>(op, field)[d]};
  };
  Sizes pooled = sizes;
  for (size_t d = 0; d + 2 < sizes.size(); ++d) {
    const int64_t dilation = HasField(op, "Dilations") ? number("Dilations", d) : 1;
    const int64_t steps = sizes[d + 2] + number("StartPadding", d) + number("EndPadding", d) -
                          dilation * (number("WindowSize", d) - 1) - 1;
    const int64_t stride = number("Strides", d);
    const bool has_more = steps % stride != 0 && from.OneIn(2);
    pooled[d + 2] = static_cast<uint32_t>(std::max<int64_t>(0, steps) / stride + 1);
    if (has_more) ++pooled[d + 2];
  }
  return pooled;
}

void DrawPooling(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawPoolingWindows(from, sizes.size() - 2, op);
  SetSizes(op, "InputTensor", sizes);
  if (from.OneIn(2)) SetSizes(op, "OutputTensor", Pooled(from, op, sizes));
}

void DrawNorm(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawPooling(from, sizes, op);
  Set(op, "P", from.OneIn(8) ? from.Number(1, UINT32_MAX) : from.Number(1, 5));
}

// For one operator, the output's sizes follow from its InputTensor.
void DrawGradient(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawPoolingWindows(from, sizes.size() - 2, op);
  SetSizes(op, "InputGradientTensor", Pooled(from, op, sizes));
  if (HasField(op, "InputTensor")) SetSizes(op, "InputTensor", sizes);
  SetSizes(op, "OutputGradientTensor", sizes);
}

// One element, or one for each channel.
Sizes ChannelSizes(const DescEntropy& from, uint32_t channels) {
  const size_t rank = static_cast<size_t>(from.Between(1, 5));
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) return sizes;
  sizes[rank < 4 && from.OneIn(2) ? 0 : rank == 1 ? 0 : 1] = channels;
  return sizes;
}

void DrawQuantized(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->optional && from.OneIn(2)) op.AddTensor(*field);
  }
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.role() == TensorRole::kInput) slot.desc->sizes = ChannelSizes(from, sizes[1]);
  }
  DrawPooling(from, sizes, op);
}

// --- regions -------------------------------------------------------------------------------------

// Puts some sizes of 1 in front, up to four dimensions.
Sizes BehindOnes(const DescEntropy& from, Sizes sizes) {
  const size_t rank = static_cast<size_t>(from.Between(sizes.size(), 4));
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  return sizes;
}

float DrawRegionScale(const DescEntropy& from) {
  const float plain[] = {1.0f, 0.5f, 0.0625f, 0.3f, 2.0f, -1.0f};
  return from.OneIn(12) ? from.Factor() : from.OneOf(plain);
}

void DrawRegionPooling(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  Sizes image = from.Few(4, 7, 12);
  image[2] = from.SmallSize(7, 17);
  image[3] = from.SmallSize(7, 33);
  SetSizes(op, "InputTensor", image);
  SetSizes(op, "ROITensor", {1, 1, from.Few(4, 17), 5});
  const Sizes pooled = from.Few(2, 6, 9);
  Set(op, "PooledSize", Size2d{pooled[0], pooled[1]});
  Set(op, "SpatialScale", DrawRegionScale(from));
}

// Few samples, because the reference visits them all.
void DrawSamples(const DescEntropy& from, OperatorDesc& op) {
  constexpr uint32_t kAverage = 2;
  constexpr uint32_t kMax = 7;
  Set(op, "ReductionFunction", from.OneIn(2) ? kAverage : kMax);
  Set(op, "SpatialScaleX", DrawRegionScale(from));
  Set(op, "SpatialScaleY", DrawRegionScale(from));
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
  Sizes image = from.Few(4, 6, 12);
  image[3] = from.SmallSize(6, 17);
  Sizes output = from.Few(4, 3, 9);
  output[1] = image[1];
  DrawSamples(from, op);
  SetSizes(op, "ROITensor", BehindOnes(from, {output[0], 4}));
  SetSizes(op, "BatchIndicesTensor", BehindOnes(from, {output[0]}));
  SetSizes(op, is_gradient ? "InputGradientTensor" : "OutputTensor", output);
  if (!is_gradient) return SetSizes(op, "InputTensor", image);
  if (from.OneIn(4)) {
    Set(op, "ReductionFunction", uint32_t{2});
    return SetSizes(op, "OutputGradientTensor", image);
  }
  SetSizes(op, "InputTensor", image);
  if (from.OneIn(2)) SetSizes(op, "OutputROIGradientTensor", BehindOnes(from, {output[0], 4}));
  if (from.OneIn(2)) SetSizes(op, "OutputGradientTensor", image);
}

// --- normalizations ------------------------------------------------------------------------------

// Usually no divisor is 0 or negative.
void DrawLocalResponse(const DescEntropy& from, const Sizes&, OperatorDesc& op) {
  const float factors[] = {1.0f, 1e-4f, 0.5f, 0.0f, 2.0f};
  const float powers[] = {0.75f, 0.5f, 1.0f, 0.0f, -1.0f, 2.5f};
  const bool is_plain = !from.OneIn(8);
  Set(op, "Alpha", is_plain ? from.OneOf(factors) : from.Factor());
  Set(op, "Beta", is_plain ? from.OneOf(powers) : static_cast<float>(from.Int(-3, 3)));
  Set(op, "Bias", is_plain ? from.OneOf(factors) : from.Factor());
}

// Reduces the sizes, because the reference visits a whole slice for each element.
Sizes Fewer(const DescEntropy& from, Sizes sizes) {
  while (true) {
    uint64_t count = 1;
    for (const uint32_t size : sizes) count *= size;
    if (count <= static_cast<uint64_t>(from.limits().max_slice_elements)) return sizes;
    uint32_t& largest = *std::max_element(sizes.begin(), sizes.end());
    largest = (largest + 1) / 2;
  }
}

void DrawFewer(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  SetSizes(op, "InputTensor", Fewer(from, sizes));
}

// Leading sizes are 1.
void DrawMatrix(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  Sizes matrix = Fewer(from, sizes);
  for (size_t d = 0; d + 2 < matrix.size(); ++d) matrix[d] = 1;
  SetSizes(op, "InputTensor", matrix);
}

// Each size of a parameter is 1 or the input's.
Sizes DrawParameter(const DescEntropy& from, const Sizes& sizes) {
  Sizes parameter = sizes;
  for (uint32_t& size : parameter) {
    if (from.OneIn(2)) size = 1;
  }
  return parameter;
}

// Draws an activation whose result is within the same bounds as its argument.
void DrawFusedActivation(const DescEntropy& from, OperatorDesc& op) {
  if (!HasField(op, kFusedActivation.name)) return;
  const auto* const name = from.OneIn(2) ? "ACTIVATION_IDENTITY" : "ACTIVATION_RELU";
  op.set(kFusedActivation, std::vector{ActivationNamed(name)});
}

// Draws which optional inputs are there, all with the sizes that sizes_of(name) returns.
template <typename SizesOf>
void DrawInputsOf(const DescEntropy& from, SizesOf&& sizes_of, OperatorDesc& op) {
  DrawFusedActivation(from, op);
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->role == TensorRole::kOutput || (field->optional && from.OneIn(2))) continue;
    SetSizes(op, field->name, sizes_of(field->name));
  }
}

// Draws the sizes of each parameter independently.
void DrawParameters(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Sizes input = Fewer(from, sizes);
  const auto sizes_of = [&](std::string_view name) {
    return name == "InputTensor" ? input : DrawParameter(from, input);
  };
  DrawInputsOf(from, sizes_of, op);
}

// All parameters have the same sizes.
void DrawSlices(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  const Sizes input = Fewer(from, sizes);
  const Sizes parameter = DrawParameter(from, input);
  const auto sizes_of = [&](std::string_view name) {
    const bool is_whole =
        name == "InputTensor" || name == "FusedAddTensor" || name == "InputGradientTensor";
    return is_whole ? input : parameter;
  };
  DrawInputsOf(from, sizes_of, op);
}

// The step has one element.
void DrawStep(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->role == TensorRole::kInput) SetSizes(op, field->name, sizes);
  }
  SetSizes(op, "TrainingStepTensor", Sizes(from.OneIn(2) ? 1 : sizes.size(), 1));
  for (const char* beta : {"Beta1", "Beta2"}) {
    const float plain[] = {0.0f, 0.5f, 0.9f, 0.999f, 1.0f, 0x1.fffffep-1f, 1e-30f};
    Set(op, beta, from.OneOf(plain));
  }
}

// --- all of them ---------------------------------------------------------------------------------

constexpr SizesRow kWindowRows[] = {
    {"AVERAGE_POOLING", DrawPooling},
    {"AVERAGE_POOLING1", DrawPooling},
    {"AVERAGE_POOLING_GRAD", DrawGradient},
    {"LP_POOLING", DrawNorm},
    {"LP_POOLING1", DrawNorm},
    {"MAX_POOLING", DrawPooling},
    {"MAX_POOLING1", DrawPooling},
    {"MAX_POOLING2", DrawPooling},
    {"MAX_POOLING_GRAD", DrawGradient},
    {"QUANTIZED_LINEAR_AVERAGE_POOLING", DrawQuantized},
    {"LOCAL_RESPONSE_NORMALIZATION", DrawLocalResponse},
    {"LOCAL_RESPONSE_NORMALIZATION_GRAD", DrawLocalResponse},
    {"ROI_ALIGN", DrawAlignment},
    {"ROI_ALIGN1", DrawAlignment},
    {"ROI_ALIGN_GRAD", DrawAlignment, true},
    {"ROI_POOLING", DrawRegionPooling},
    {"ACTIVATION_HARDMAX", DrawMatrix},
    {"ACTIVATION_HARDMAX1", DrawFewer},
    {"ACTIVATION_LOG_SOFTMAX", DrawMatrix},
    {"ACTIVATION_LOG_SOFTMAX1", DrawFewer},
    {"ACTIVATION_SOFTMAX", DrawMatrix},
    {"ACTIVATION_SOFTMAX1", DrawFewer},
    {"ADAM_OPTIMIZER", DrawStep},
    {"BATCH_NORMALIZATION", DrawParameters},
    {"BATCH_NORMALIZATION_GRAD", DrawSlices},
    {"BATCH_NORMALIZATION_TRAINING", DrawSlices},
    {"BATCH_NORMALIZATION_TRAINING_GRAD", DrawSlices},
    {"DYNAMIC_QUANTIZE_LINEAR", DrawFewer},
    {"LP_NORMALIZATION", DrawFewer},
    {"MEAN_VARIANCE_NORMALIZATION", DrawParameters},
    {"MEAN_VARIANCE_NORMALIZATION1", DrawParameters},
    {"MEAN_VARIANCE_NORMALIZATION2", DrawParameters},
};

}  // namespace

std::span<const SizesRow> WindowSizes() {
  return kWindowRows;
}

}  // namespace dmlop
