// SPDX-License-Identifier: Apache-2.0
// DML_UPSAMPLE_2D_OPERATOR_DESC and DML_RESAMPLE*_OPERATOR_DESC scale tensors along each dimension:
// an output element is the nearest element of the input, or a weighted mean of those around it.
// DML_RESAMPLE_GRAD*_OPERATOR_DESC are the transpose.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>

#include "core/engine/weighted/weighted_sum.h"
#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "core/ops/hardware_tolerance.h"
#include "core/ops/inference.h"
#include "core/ops/operator.h"
#include "core/ops/weighted/resample_axis.h"

namespace dmlop::resample {
namespace {

enum Mode : uint32_t { kNearestNeighbor, kLinear };
constexpr std::string_view kModeNames[] = {"NEAREST_NEIGHBOR", "LINEAR"};
enum Direction : uint32_t { kIncreasing, kDecreasing };
constexpr std::string_view kDirectionNames[] = {"INCREASING", "DECREASING"};

constexpr FieldLimits kPerDimension = {
    .min_count = 1, .max_count = kMaxRank, .count_rule = "RSM-1", .per_dimension = true};
constexpr auto kScaleSize = field::TwoSizes("ScaleSize", {.min = 1, .rule = "RSM-21"});
constexpr auto kInterpolationMode =
    field::Enum("InterpolationMode", {"DML_INTERPOLATION_MODE_", kModeNames});
constexpr auto kRoundingDirection =
    field::Enum("RoundingDirection", {"DML_AXIS_DIRECTION_", kDirectionNames});
constexpr auto kScaleCount = field::Count("ScaleCount");
constexpr auto kScales = field::Floats("Scales", kPerDimension);
constexpr auto kInputPixelOffsets = field::Floats("InputPixelOffsets", kPerDimension);
constexpr auto kOutputPixelOffsets = field::Floats("OutputPixelOffsets", kPerDimension);
constexpr auto kAntialiased = field::Bool("Antialiased");

constexpr auto kUpsampleFields =
    Fields(kInputTensor, kOutputTensor, kScaleSize, kInterpolationMode);
constexpr auto kResampleFields =
    Fields(kInputTensor, kOutputTensor, kInterpolationMode, kScaleCount, kScales);
constexpr auto kResample1Fields =
    Fields(kInputTensor, kOutputTensor, kInterpolationMode, kDimensionCount, kScales,
           kInputPixelOffsets, kOutputPixelOffsets);
constexpr auto kResample2Fields =
    Fields(kInputTensor, kOutputTensor, kInterpolationMode, kRoundingDirection, kDimensionCount,
           kScales, kInputPixelOffsets, kOutputPixelOffsets);
constexpr auto kResample3Fields =
    Fields(kInputTensor, kOutputTensor, kInterpolationMode, kRoundingDirection, kDimensionCount,
           kScales, kInputPixelOffsets, kOutputPixelOffsets, kAntialiased);
constexpr auto kGradFields =
    Fields(kInputGradient, kOutputGradient, kInterpolationMode, kDimensionCount, kScales,
           kInputPixelOffsets, kOutputPixelOffsets);
constexpr auto kGrad1Fields =
    Fields(kInputGradient, kOutputGradient, kInterpolationMode, kRoundingDirection, kDimensionCount,
           kScales, kInputPixelOffsets, kOutputPixelOffsets);

// --- rules ---------------------------------------------------------------------------------------

void InferUpsample(const OperatorDesc& op, Inference& infer) {
  const Sizes& input = op.sizes(kInputTensor);
  if (input.size() < 2) return;
  std::vector<uint64_t> sizes(input.begin(), input.end());
  bool all_fit = true;
  const auto scale = [&](size_t d, uint32_t factor, std::string_view member) {
    sizes[d] *= factor;
    all_fit &=
        infer.Require(sizes[d] <= UINT32_MAX, "RSM-21", {kScaleSize.name, std::nullopt, member},
                      "{} times {} is more than a tensor may have", input[d], factor);
  };
  scale(input.size() - 1, op[kScaleSize].width, "Width");
  scale(input.size() - 2, op[kScaleSize].height, "Height");
  if (!all_fit) return;
  infer.Output("RSM-20", kOutputTensor, sizes);
}

bool RequireFinite(const OperatorDesc& op, const FieldOf<std::vector<float>>& field,
                   Inference& infer) {
  const std::vector<float>* numbers = op.find_if_known(field);
  bool are_finite = true;
  for (size_t d = 0; numbers != nullptr && d < numbers->size(); ++d) {
    are_finite &= infer.Require(std::isfinite((*numbers)[d]), "RSM-2", At(field, d),
                                "{} is not finite", (*numbers)[d]);
  }
  return are_finite;
}

bool RequireFactors(const OperatorDesc& op, Inference& infer) {
  bool are_positive = RequireFinite(op, kScales, infer);
  for (size_t d = 0; d < op[kScales].size(); ++d) {
    are_positive &= infer.Require(!(op[kScales][d] <= 0), "RSM-2", At(kScales, d),
                                  "{} is not greater than 0", op[kScales][d]);
  }
  RequireFinite(op, kInputPixelOffsets, infer);
  RequireFinite(op, kOutputPixelOffsets, infer);
  return are_positive;
}

// The scaled sizes are rounded to FLOAT32 before they are truncated.
void InferScaledSizes(const OperatorDesc& op, Inference& infer) {
  std::vector<uint64_t> sizes;
  for (size_t d = 0; d < op[kScales].size(); ++d) {
    const uint32_t size = op.sizes(kInputTensor)[d];
    const HeadTail product = TwoProduct(size, op[kScales][d]);
    const float scaled = RoundOnce<float>(product.head, product.tail);
    constexpr float kTooLarge = 0x1p63f;
    const uint64_t least = IsUnknown(size) ? size : 1;
    sizes.push_back(scaled < 1 ? least : static_cast<uint64_t>(std::min(scaled, kTooLarge)));
  }
  infer.Output("RSM-1", kOutputTensor, sizes);
}

void InferResample(const OperatorDesc& op, Inference& infer) {
  const bool are_sound = RequireFactors(op, infer);
  if (op[kOutputTensor].sizes) {
    infer.RequireSameRank("MOV-1", infer.tensor(kOutputTensor), infer.tensor(kInputTensor));
  } else if (are_sound) {
    InferScaledSizes(op, infer);
  }
}

// The output's sizes do not follow from the gradient, so they must be given.
void InferGrad(const OperatorDesc& op, Inference& infer) {
  RequireFactors(op, infer);
  if (!op[kOutputGradient].sizes) return;
  infer.RequireSameRank("MOV-1", infer.tensor(kOutputGradient), infer.tensor(kInputGradient));
}

// --- weights -------------------------------------------------------------------------------------

// Operators without a direction round halves up.
Interpolation InterpolationOf(const OperatorDesc& op) {
  if (op[kInterpolationMode] == kLinear) {
    const bool* antialiased = op.find_if_known(kAntialiased);
    const bool is_antialiased = antialiased != nullptr && *antialiased;
    return is_antialiased ? Interpolation::kAntialiased : Interpolation::kLinear;
  }
  const uint32_t* direction = op.find_if_known(kRoundingDirection);
  const bool is_ceil = direction != nullptr && *direction == kIncreasing;
  return is_ceil ? Interpolation::kCeil : Interpolation::kFloor;
}

float ScaleOf(const OperatorDesc& op, size_t d, size_t rank) {
  if (const std::vector<float>* scales = op.find_if_known(kScales)) return (*scales)[d];
  const Size2d& scale = op[kScaleSize];
  return d + 1 == rank   ? static_cast<float>(scale.width)
         : d + 2 == rank ? static_cast<float>(scale.height)
                         : 1.0f;
}

float InputOffsetOf(const OperatorDesc& op, size_t d) {
  const std::vector<float>* offsets = op.find_if_known(kInputPixelOffsets);
  const float offset = offsets != nullptr ? (*offsets)[d] : 0.5f;
  const bool rounds_halves =
      op[kInterpolationMode] == kNearestNeighbor && op.find_if_known(kRoundingDirection) == nullptr;
  return rounds_halves ? offset - 0.5f : offset;
}

// Returns the dimension as the forward operator has it, from `pixels` to `outputs`.
ResampleAxis AxisOf(const OperatorDesc& op, size_t d, const Sizes& pixels, const Sizes& outputs) {
  const std::vector<float>* output_offsets = op.find_if_known(kOutputPixelOffsets);
  return {InterpolationOf(op),  pixels[d],
          outputs[d],           ScaleOf(op, d, pixels.size()),
          InputOffsetOf(op, d), output_offsets != nullptr ? (*output_offsets)[d] : -0.5f};
}

// Creates the taps of one dimension.
using TapsFunction = std::shared_ptr<const TapAxis> (*)(const ResampleAxis& axis, int64_t stride);
using RangeFunction = Range (*)(const ResampleAxis& axis, int64_t index);

WeightedSource SourceFrom(const OperatorDesc& op, const ConstTensorView& input, const Sizes& pixels,
                          const Sizes& outputs, TapsFunction taps) {
  WeightedSource source{input, {}, WeightedSource::kRound};
  for (size_t d = 0; d < pixels.size(); ++d) {
    source.axes.push_back(taps(AxisOf(op, d, pixels, outputs), input.layout.strides[d]));
  }
  return source;
}

WeightedSource Forward(const OperatorDesc& op, const ConstTensorView& input) {
  WeightedSource source =
      SourceFrom(op, input, op.sizes(kInputTensor), op.sizes(kOutputTensor), PixelTaps);
  if (op[kInterpolationMode] == kNearestNeighbor) source.rule = WeightedSource::kCopy;
  return source;
}

WeightedSource Backward(const OperatorDesc& op, const ConstTensorView& input) {
  return SourceFrom(op, input, op.sizes(kOutputGradient), op.sizes(kInputGradient), OutputTaps);
}

// Covers the sources of all elements, from the first element of the first to the last of the last.
std::optional<Region> SourceRegion(const OperatorDesc& op, const Sizes& pixels,
                                   const Sizes& outputs, RangeFunction range,
                                   const Region& output) {
  Region region{0, {}, {}};
  for (size_t d = 0; d < pixels.size(); ++d) {
    const ResampleAxis axis = AxisOf(op, d, pixels, outputs);
    const int64_t first = range(axis, output.begin[d]).begin;
    const int64_t end = range(axis, output.begin[d] + output.sizes[d] - 1).end;
    if (end <= first) return std::nullopt;
    region.begin.push_back(first);
    region.sizes.push_back(end - first);
  }
  return region;
}

std::vector<SourceMap> ForwardSources(const OperatorDesc& op) {
  return {[&op](const Region& output) {
    return SourceRegion(op, op.sizes(kInputTensor), op.sizes(kOutputTensor), PixelsOf, output);
  }};
}

std::vector<SourceMap> BackwardSources(const OperatorDesc& op) {
  return {[&op](const Region& output) {
    return SourceRegion(op, op.sizes(kOutputGradient), op.sizes(kInputGradient), OutputsOf, output);
  }};
}

template <auto kSource>
void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  SumTaps(kSource(op, inputs[0]), begin, outputs[0]);
}

constexpr Computed kForward = {.run = Run<Forward>, .sources = ForwardSources, .weights = Forward};
constexpr Computed kBackward = {
    .run = Run<Backward>, .sources = BackwardSources, .weights = Backward};

Tolerance HardwareTolerance(const OperatorDesc& op) {
  if (op[kInterpolationMode] != kLinear) return {};
  return HasFloats(op) ? Ulp<84, 10>(op) : Tolerance{.ulp = 1};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("UPSAMPLE_2D", {kUpsampleFields, "MOV-1", InferUpsample}, kForward,
                {.hardware_tolerance = HardwareTolerance}),
    OperatorRow("RESAMPLE", {kResampleFields, "MOV-1", InferResample}, kForward,
                {.hardware_tolerance = HardwareTolerance}),
    OperatorRow("RESAMPLE1", {kResample1Fields, "MOV-1", InferResample}, kForward,
                {.hardware_tolerance = HardwareTolerance}),
    OperatorRow("RESAMPLE2", {kResample2Fields, "MOV-1", InferResample}, kForward,
                {.hardware_tolerance = HardwareTolerance}),
    OperatorRow("RESAMPLE3", {kResample3Fields, "MOV-1", InferResample}, kForward,
                {.hardware_tolerance = HardwareTolerance}),
    OperatorRow("RESAMPLE_GRAD", {kGradFields, "MOV-1", InferGrad}, kBackward),
    OperatorRow("RESAMPLE_GRAD1", {kGrad1Fields, "MOV-1", InferGrad}, kBackward),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::resample

namespace dmlop {

OperatorDesc PictureScale(DataType type, const std::vector<uint32_t>& from,
                          const std::vector<uint32_t>& to) {
  using namespace resample;
  OperatorDesc op(*FindOperator("RESAMPLE3"));
  for (const auto& [field, sizes] : {std::pair(&kInputTensor, &from), {&kOutputTensor, &to}}) {
    op.at(*field).data_type = type;
    op.at(*field).sizes = *sizes;
  }
  op.set(kInterpolationMode, uint32_t{kLinear});
  op.set(kRoundingDirection, uint32_t{kDecreasing});
  std::vector<float> scales;
  for (size_t d = 0; d < from.size(); ++d) {
    scales.push_back(static_cast<float>(static_cast<double>(to[d]) / from[d]));
  }
  op.set(kScales, scales);
  op.set(kInputPixelOffsets, std::vector<float>(from.size(), 0.5F));
  op.set(kOutputPixelOffsets, std::vector<float>(from.size(), -0.5F));
  op.set(kAntialiased, true);
  Diagnostics none;
  Check(op, kHighestFeatureLevel, none);
  return op;
}

}  // namespace dmlop
