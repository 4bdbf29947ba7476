// SPDX-License-Identifier: Apache-2.0
// Samples of regions of images: their fields, rules and parts of formulas.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "core/engine/roi/region_samples.h"
#include "core/exact/functions.h"
#include "core/ops/formula.h"
#include "core/ops/inference.h"

namespace dmlop::roi {

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

bool IsMax(const OperatorDesc& op);

// Requires ROITensor {R, 4} and BatchIndicesTensor {R}, after leading 1s. Returns R if they fit.
std::optional<uint32_t> CheckRegions(std::string_view code, const OperatorDesc& op,
                                     Inference& infer);

// Checks the fields about samples for the sizes of the output.
void CheckSamples(const OperatorDesc& op, const Sizes& outputs, Inference& infer);

// `outputs` are {R, C, height, width}. For operators without these fields, pixel offsets are half a
// pixel and corners are not aligned.
RegionRule RuleOf(const OperatorDesc& op, const Sizes& outputs);

// Channels [begin, begin + count) of a tensor {N, C, H, W}, whole in its other dimensions.
Region ChannelsOf(size_t tensor, const Sizes& sizes, int64_t begin, int64_t count);

// Regions [begin, begin + count) of a tensor that has them along `dimension`.
Region RegionsOf(size_t tensor, const Sizes& sizes, size_t dimension, int64_t begin, int64_t count);

// --- formulas ------------------------------------------------------------------------------------

// Shows a number that is counted or decided before anything is computed.
void Tell(std::string_view name, int64_t number, Formula& formula);

// Shows the corners of a region in the image, the item that it lies in, and the number of samples
// of an output, which is returned.
FormulaNode TellRegion(const OperatorDesc& op, const RegionSamples& samples, int64_t region,
                       Formula& formula);

// A channel of an input image.
struct ImagePlane {
  size_t input;
  int64_t item, channel;
};

// The four pixels around a sample, row by row.
std::array<FormulaNode, 4> PixelsAround(const ImagePlane& plane, const SampleRun& y,
                                        const SampleRun& x, Formula& formula);

// The distance of a sample from the pixel before it; none if the sample is on a pixel.
using Fraction = std::optional<FormulaNode>;
Fraction FractionOf(const SampleRun& run, std::string_view axis, Formula& formula);

// The fractions of an output along an axis. If samples are few, shows their coordinates, by their
// numbers in the region.
std::vector<Fraction> TellFractions(const AxisSamples& along, int64_t output, std::string_view axis,
                                    Formula& formula);

// Returns (1 - fraction) * a + fraction * b, or a alone if that has all the weight.
FormulaNode Between(FormulaNode a, FormulaNode b, Fraction fraction, Formula& formula);

// Warns of batch indices that are out of range of the images and will be clamped.
void WarnOfBatches(const ConstTensorView& batches, int64_t images, Diagnostics& diagnostics);

}  // namespace dmlop::roi
