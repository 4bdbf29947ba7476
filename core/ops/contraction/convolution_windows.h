// SPDX-License-Identifier: Apache-2.0
// The places of the windows of CONVOLUTION; see convolution.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/matrix/window_lines.h"
#include "core/ops/families.h"
#include "core/ops/inference.h"

namespace dmlop::convolution {

enum Mode : uint32_t { kConvolution, kCrossCorrelation };
inline constexpr std::string_view kModeNames[] = {"CONVOLUTION", "CROSS_CORRELATION"};
enum Direction : uint32_t { kForward, kBackward };
inline constexpr std::string_view kDirectionNames[] = {"FORWARD", "BACKWARD"};

constexpr Limits Spatial(uint32_t min) {
  return {.min = min,
          .rule = min > 0 ? "CTR-5" : "",
          .min_count = 1,
          .max_count = 3,
          .count_rule = "CTR-4"};
}
inline constexpr auto kFilterTensor =
    field::Input("FilterTensor")
        .Means(
            "The weights, {output channels, input channels / GroupCount, spatial sizes}; with "
            "Direction BACKWARD, {input channels, output channels / GroupCount, spatial sizes}.");
inline constexpr auto kBiasTensor =
    field::Optional(field::Input("BiasTensor"))
        .Means(
            "A number for each output channel, {1, output channels, 1, ...}, that is added to the "
            "sum before it is rounded; without it, 0.");
inline constexpr auto kMode =
    field::Enum("Mode", {"DML_CONVOLUTION_MODE_", kModeNames})
        .Means(
            "CROSS_CORRELATION takes the filter as it is, which other libraries call a "
            "convolution; CONVOLUTION turns it around in each spatial dimension.");
inline constexpr auto kDirection =
    field::Enum("Direction", {"DML_CONVOLUTION_DIRECTION_", kDirectionNames})
        .Means(
            "FORWARD is the convolution; BACKWARD is the transposed one, which spreads each "
            "element over a window of the output.");
inline constexpr auto kStrides = field::Uints("Strides", Spatial(1)).Means(meaning::kStrides);
inline constexpr auto kDilations = field::Uints("Dilations", Spatial(1)).Means(meaning::kDilations);
inline constexpr auto kStartPadding =
    field::Uints("StartPadding", Spatial(0)).Means(meaning::kStartPadding);
inline constexpr auto kEndPadding =
    field::Uints("EndPadding", Spatial(0)).Means(meaning::kEndPadding);
inline constexpr auto kOutputPadding =
    field::Uints("OutputPadding", Spatial(0))
        .Means(
            "How many elements the output has besides, at the end of each spatial dimension; "
            "strides leave the size of what was convolved open.");
inline constexpr auto kGroupCount =
    field::Uint("GroupCount", {.min = 1, .rule = "CTR-5"}).Means(meaning::kGroupCount);
inline constexpr auto kActivation = field::FusedActivation(ActivationHost::kConvolution);

// --- sizes ---------------------------------------------------------------------------------------

inline bool IsForward(const OperatorDesc& op) {
  return op[kDirection] == kForward;
}

inline size_t SpatialRank(const OperatorDesc& op) {
  return op[kStrides].size();
}

inline int64_t KernelSize(const OperatorDesc& op, size_t d) {
  return op.sizes(kFilterTensor)[d + 2];
}

// Returns step * (count - 1). It saturates at a value too large for any tensor.
inline int64_t Reach(uint32_t step, int64_t count) {
  constexpr uint64_t kFar = uint64_t{1} << 60;
  const CheckedU64 reach = CheckedMul(step, static_cast<uint64_t>(count - 1));
  return static_cast<int64_t>(std::min(reach.value_or(kFar), kFar));
}

inline int64_t Padding(const OperatorDesc& op, size_t d) {
  return int64_t{op[kStartPadding][d]} + op[kEndPadding][d];
}

// Returns how many positions along a dimension have a window, without OutputPadding.
inline int64_t WindowPositions(const OperatorDesc& op, size_t d) {
  const int64_t input = op.sizes(kInputTensor)[d + 2];
  const int64_t window = Reach(op[kDilations][d], KernelSize(op, d)) + 1;
  if (IsForward(op)) return FloorDiv(input + Padding(op, d) - window, op[kStrides][d]) + 1;
  return Reach(op[kStrides][d], input) + window - Padding(op, d);
}

inline uint64_t OutputChannels(const OperatorDesc& op) {
  const Sizes& filter = op.sizes(kFilterTensor);
  return IsForward(op) ? filter[0] : uint64_t{filter[1]} * op[kGroupCount];
}

// --- one dimension -------------------------------------------------------------------------------

// Positions of a part of the output that are reached by the same taps: `first` and every step-th
// after it. These are every tap_step-th tap of the filter, beginning with `first_tap`.
struct Residue {
  int64_t first, step;
  WindowAxis axis;
  int64_t first_tap, tap_step;
};

class Dimension {
 public:
  Dimension(const OperatorDesc& op, size_t d)
      : input_(op.sizes(kInputTensor)[d + 2]),
        kernel_(KernelSize(op, d)),
        stride_(op[kStrides][d]),
        dilation_(op[kDilations][d]),
        start_padding_(op[kStartPadding][d]),
        windows_(WindowPositions(op, d)),
        is_forward_(IsForward(op)),
        is_turned_(op[kMode] == kConvolution) {}

  int64_t kernel() const { return kernel_; }

  // Returns the residues of the positions [begin, begin + size) of the output.
  std::vector<Residue> Residues(int64_t begin, int64_t size) const {
    if (is_forward_) return {Forward(begin, size)};
    std::vector<Residue> residues;
    for (int64_t first = 0; first < std::min(size, stride_); ++first) {
      residues.push_back(Backward(begin, size, first));
    }
    return residues;
  }

  // Returns the input elements that a tap contributes to the positions; empty if there are none.
  IndexRange ElementsOf(int64_t tap, int64_t begin, int64_t size) const {
    const int64_t last = begin + size - 1;
    int64_t first_element, last_element;
    if (is_forward_) {
      const int64_t offset = tap * dilation_ - start_padding_;
      // Positions whose elements lie in the padding come before and after the others.
      const int64_t from = std::max(begin, CeilDiv(-offset, stride_));
      const int64_t to = std::min({last, windows_ - 1, FloorDiv(input_ - 1 - offset, stride_)});
      if (from > to) return {0, 0};
      first_element = from * stride_ + offset;
      last_element = to * stride_ + offset;
    } else {
      const int64_t offset = start_padding_ - tap * dilation_;
      first_element = std::max<int64_t>(0, CeilDiv(begin + offset, stride_));
      last_element = std::min(input_ - 1, FloorDiv(last + offset, stride_));
    }
    return {first_element, std::max<int64_t>(0, last_element - first_element + 1)};
  }

  // Returns the place of a tap in the filter.
  int64_t InFilter(int64_t tap) const { return is_turned_ ? kernel_ - 1 - tap : tap; }

 private:
  Residue Forward(int64_t begin, int64_t size) const {
    const WindowAxis axis{input_,  size,      kernel_,         begin * stride_ - start_padding_,
                          stride_, dilation_, windows_ - begin};
    return {0, 1, axis, InFilter(0), is_turned_ ? -1 : 1};
  }

  // The residue has no taps if none reaches its positions.
  Residue Backward(int64_t begin, int64_t size, int64_t first) const {
    const int64_t place = begin + first + start_padding_;
    const int64_t divisor = std::gcd(stride_, dilation_);
    const int64_t step = stride_ / divisor;
    int64_t tap = 0;
    while (tap < std::min(step, kernel_) && (place - tap * dilation_) % stride_ != 0) ++tap;
    const bool has_taps = tap < std::min(step, kernel_);
    const int64_t positions = (size - 1 - first) / stride_ + 1;
    const WindowAxis axis{input_,
                          positions,
                          has_taps ? (kernel_ - 1 - tap) / step + 1 : 0,
                          (place - tap * dilation_) / stride_,
                          1,
                          -dilation_ / divisor,
                          positions};
    return {first, stride_, axis, InFilter(tap), is_turned_ ? -step : step};
  }

  int64_t input_, kernel_, stride_, dilation_, start_padding_;
  int64_t windows_;  // positions with a window if FORWARD
  bool is_forward_, is_turned_;
};

inline std::vector<Dimension> DimensionsOf(const OperatorDesc& op) {
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < SpatialRank(op); ++d) dimensions.emplace_back(op, d);
  return dimensions;
}

// --- groups --------------------------------------------------------------------------------------

struct Channels {
  int64_t inputs, outputs;  // of a group
};

inline Channels ChannelsOf(const OperatorDesc& op) {
  const int64_t groups = op[kGroupCount];
  return {op.sizes(kInputTensor)[1] / groups, static_cast<int64_t>(OutputChannels(op)) / groups};
}

int64_t TapCount(const OperatorDesc& op);

// --- what the family answers ---------------------------------------------------------------------

std::vector<SourceMap> Sources(const OperatorDesc& op);
FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula);
int64_t Operations(const OperatorDesc& op);
void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs);

}  // namespace dmlop::convolution
