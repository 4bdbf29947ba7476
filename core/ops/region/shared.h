// What operators share that sample regions of images.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/engine/region/region_samples.h"
#include "core/exact/reduce_function.h"
#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop::region {

inline constexpr auto kRegions = field::Input("ROITensor", TypeVariable::kT, RankGroup::kSide);
inline constexpr auto kBatches =
    field::Input("BatchIndicesTensor", TypeVariable::kIndex, RankGroup::kOther);
inline constexpr auto kReductionFunction = field::Enum(
    "ReductionFunction", {.prefix = "DML_REDUCE_FUNCTION_", .names = kReduceFunctionNames});
inline constexpr std::string_view kModeNames[] = {"NEAREST_NEIGHBOR", "LINEAR"};
inline constexpr auto kInterpolationMode =
    field::Enum("InterpolationMode", {"DML_INTERPOLATION_MODE_", kModeNames});
inline constexpr auto kSpatialScaleX = field::Float("SpatialScaleX");
inline constexpr auto kSpatialScaleY = field::Float("SpatialScaleY");
inline constexpr auto kInputPixelOffset = field::Float("InputPixelOffset");
inline constexpr auto kOutputPixelOffset = field::Float("OutputPixelOffset");
inline constexpr auto kMinimumSamples =
    field::Uint("MinimumSamplesPerOutput", {.min = 1, .rule = "RAL-2"});
inline constexpr auto kMaximumSamples = field::Uint("MaximumSamplesPerOutput");
inline constexpr auto kAlignToCorners = field::Bool("AlignRegionsToCorners");

// Of a level that takes such batch indices.
constexpr SupportRow Row(FeatureLevel since, DataTypeSet batches) {
  return {since, 4, 4, {types::kFloats, {}, {}, batches}, {{{2, 4}, {1, 4}}}};
}

inline constexpr Rule kSamples = {
    "RAL-2",
    "ReductionFunction is AVERAGE or MAX; 1 <= MinimumSamplesPerOutput <= MaximumSamplesPerOutput, "
    "and an output has at most 2^31 samples along a dimension"};

bool IsMax(const OperatorDesc& op);

// ROITensor is {R, 4} and BatchIndicesTensor {R}, each behind 1s; R, where that is so.
std::optional<uint32_t> CheckRegions(std::string_view code, const OperatorDesc& op,
                                     Inference& infer);

// The fields about samples, for outputs of so many rows and columns.
void CheckSamples(const OperatorDesc& op, const Sizes& outputs, Inference& infer);

// For outputs of sizes {R, C, height, width}. The pixel offsets are half a pixel and the corners
// not aligned where an operator has no such fields.
RegionRule RuleOf(const OperatorDesc& op, const Sizes& outputs);

// Channels [begin, begin + count) of a tensor {N, C, H, W}, as the whole of its other dimensions.
Region ChannelsOf(size_t tensor, const Sizes& sizes, int64_t begin, int64_t count);

// Regions [begin, begin + count) of a tensor with them along a dimension.
Region RegionsOf(size_t tensor, const Sizes& sizes, size_t dimension, int64_t begin, int64_t count);

// Warns of batches that the images do not have, and that are clamped.
void WarnOfBatches(const ConstTensorView& batches, int64_t images, Diagnostics& diagnostics);

}  // namespace dmlop::region
