// SPDX-License-Identifier: Apache-2.0
// The places of the windows of CONVOLUTION; see convolution.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/engine/matrix/window_lines.h"
#include "core/ops/families.h"
#include "core/ops/signature.h"
#include "core/ops/windows.h"

namespace dmlop::convolution {

enum Mode : uint32_t { kConvolution, kCrossCorrelation };
inline constexpr std::string_view kModeNames[] = {"CONVOLUTION", "CROSS_CORRELATION"};
enum Direction : uint32_t { kForward, kBackward };
inline constexpr std::string_view kDirectionNames[] = {"FORWARD", "BACKWARD"};

inline constexpr FieldLimits kSpatial = {
    .min = 1, .rule = "CTR-5", .min_count = 1, .max_count = 3, .count_rule = "CTR-4"};
inline constexpr WindowFields kWindows = WindowFieldsWith(kSpatial);
inline constexpr auto kFilterTensor = field::Input("FilterTensor");
inline constexpr auto kMode = field::Enum("Mode", {"DML_CONVOLUTION_MODE_", kModeNames});
inline constexpr auto kDirection =
    field::Enum("Direction", {"DML_CONVOLUTION_DIRECTION_", kDirectionNames});
inline constexpr auto kOutputPadding = field::Uints("OutputPadding", kWindows.end_padding.limits);
inline constexpr auto kActivation = field::FusedActivation(ActivationHost::kConvolution);

// --- sizes ---------------------------------------------------------------------------------------

inline bool IsForward(const OperatorDesc& op) {
  return op[kDirection] == kForward;
}

inline bool IsTurned(const OperatorDesc& op) {
  return op[kMode] == kConvolution;
}

inline size_t SpatialRank(const OperatorDesc& op) {
  return op[kWindows.strides].size();
}

// Returns the windows of the filter along a dimension of the input.
inline WindowAxis AxisAt(const OperatorDesc& op, size_t d) {
  return AxisOf(kWindows, op, d, op.sizes(kInputTensor)[d + 2], op.sizes(kFilterTensor)[d + 2]);
}

// --- one dimension -------------------------------------------------------------------------------

// Positions of a part of the output that are reached by the same taps: `first` and every step-th
// after it. These are every tap_step-th tap of the filter, beginning with `first_tap`.
struct Residue {
  int64_t first, step;
  LineAxis axis;
  int64_t first_tap, tap_step;
};

class Dimension {
 public:
  Dimension(const OperatorDesc& op, size_t d)
      : axis_(AxisAt(op, d)), is_forward_(IsForward(op)), is_turned_(IsTurned(op)) {}

  // Returns the residues of the positions [begin, begin + size) of the output.
  std::vector<Residue> Residues(int64_t begin, int64_t size) const {
    if (is_forward_) return {Forward(begin, size)};
    std::vector<Residue> residues;
    for (int64_t first = 0; first < std::min(size, axis_.stride); ++first) {
      residues.push_back(Backward(begin, size, first));
    }
    return residues;
  }

 private:
  // Returns the place of a tap in the filter.
  int64_t InFilter(int64_t tap) const { return is_turned_ ? axis_.window - 1 - tap : tap; }

  Residue Forward(int64_t begin, int64_t size) const {
    return {0, 1, LineAxis::Of(axis_, begin, size, axis_.Outputs()), InFilter(0),
            is_turned_ ? -1 : 1};
  }

  // The residue has no taps if none reaches its positions.
  Residue Backward(int64_t begin, int64_t size, int64_t first) const {
    const int64_t place = begin + first + axis_.start;
    const int64_t divisor = std::gcd(axis_.stride, axis_.dilation);
    const int64_t step = axis_.stride / divisor;
    int64_t tap = 0;
    while (tap < std::min(step, axis_.window) && (place - tap * axis_.dilation) % axis_.stride != 0)
      ++tap;
    const bool has_taps = tap < std::min(step, axis_.window);
    const int64_t positions = (size - 1 - first) / axis_.stride + 1;
    const LineAxis axis{axis_.size,
                        positions,
                        has_taps ? (axis_.window - 1 - tap) / step + 1 : 0,
                        (place - tap * axis_.dilation) / axis_.stride,
                        1,
                        -axis_.dilation / divisor,
                        positions};
    return {first, axis_.stride, axis, InFilter(tap), is_turned_ ? -step : step};
  }

  WindowAxis axis_;
  bool is_forward_, is_turned_;
};

// --- groups --------------------------------------------------------------------------------------

struct Channels {
  int64_t inputs, outputs;  // of a group
};

inline Channels ChannelsOf(const OperatorDesc& op) {
  const int64_t groups = op[kGroupCount];
  const Sizes& filter = op.sizes(kFilterTensor);
  return {op.sizes(kInputTensor)[1] / groups, IsForward(op) ? filter[0] / groups : filter[1]};
}

// --- what the family answers ---------------------------------------------------------------------

inline constexpr TapWindows kTapWindows = {.fields = &kWindows,
                                           .rule = "CONV-4",
                                           .fit_rule = "CONV-4",
                                           .filter = &kFilterTensor,
                                           .more = &kOutputPadding,
                                           .are_turned = IsTurned};
inline constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{N, G*c, P@K..} | {N, G*c, P..}", &kDirection},
    {&kFilterTensor, "{G*o, c, K..} | {G*c, o, K..}", &kDirection},
    {&kBiasTensor, "{1, G*o, 1..}"},
    {&kOutputTensor, "{N, G*o, P..} | {N, G*o, P@K..}", &kDirection},
};
inline constexpr Signature kShapes = {"CONV-1", "CONV-2",    kTensors,   "",
                                      nullptr,  kGroupWords, kTapWindows};

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula);
void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs);

}  // namespace dmlop::convolution
