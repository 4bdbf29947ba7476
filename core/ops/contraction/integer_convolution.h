// SPDX-License-Identifier: Apache-2.0
// The fields of CONVOLUTION_INTEGER and QUANTIZED_LINEAR_CONVOLUTION; see integer_convolution.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/matrix/window_lines.h"
#include "core/ops/families.h"
#include "core/ops/quantization.h"
#include "core/ops/windows.h"

namespace dmlop::integer_convolution {

inline constexpr auto kQuantized = TypeVariable::kIndex;
inline constexpr auto kSide = RankGroup::kSide;

inline constexpr auto kFilter =
    field::Input("FilterTensor", TypeVariable::kU)
        .Means("The weights, {output channels, input channels / GroupCount, spatial sizes}.");
inline constexpr auto kInputZeroPoint =
    field::Optional(field::Input("InputZeroPointTensor", TypeVariable::kT, kSide))
        .Means(meaning::kInputZeroPointTensor);
inline constexpr auto kFilterZeroPoint =
    field::Optional(field::Input("FilterZeroPointTensor", TypeVariable::kU, kSide))
        .Means(
            "The integer that stands for 0 in the filter, one for all or one for each output "
            "channel; without it, 0.");
inline constexpr auto kInputScale =
    field::Input("InputScaleTensor", TypeVariable::kV, kSide).Means(meaning::kInputScaleTensor);
inline constexpr auto kFilterScale =
    field::Input("FilterScaleTensor", TypeVariable::kV, RankGroup::kOther)
        .Means(
            "The value of one unit of the filter, one number for all or one for each output "
            "channel.");
inline constexpr auto kOutputScale =
    field::Input("OutputScaleTensor", TypeVariable::kV, kSide).Means(meaning::kOutputScaleTensor);
inline constexpr auto kOutputZeroPoint =
    field::Optional(field::Input("OutputZeroPointTensor", kQuantized, kSide))
        .Means(meaning::kOutputZeroPointTensor);
inline constexpr auto kBias =
    field::Optional(field::Input("BiasTensor", TypeVariable::kW))
        .Means(
            "An integer for each output channel, {1, output channels, 1, ...}, in units of the "
            "product of both scales; without it, 0.");
inline constexpr auto kSums =
    field::Output("OutputTensor", TypeVariable::kV).Means(meaning::kOutputTensor);
inline constexpr auto kIntegers =
    field::Output("OutputTensor", kQuantized).Means(meaning::kOutputTensor);

inline constexpr WindowFields kWindows = WindowFieldsWith(
    {.min = 1, .rule = "CTR-5", .min_count = 1, .max_count = 2, .count_rule = "CTR-4"});
inline constexpr auto kGroupCount =
    field::Uint("GroupCount", {.min = 1, .rule = "CTR-5"}).Means(meaning::kGroupCount);

inline std::vector<WindowAxis> AxesOf(const OperatorDesc& op) {
  std::vector<WindowAxis> axes;
  for (size_t d = 0; d < op[kWindows.strides].size(); ++d) {
    axes.push_back(
        AxisOf(kWindows, op, d, op.sizes(kInputTensor)[d + 2], op.sizes(kFilter)[d + 2]));
  }
  return axes;
}

// The number of taps in a window.
int64_t TapCount(const OperatorDesc& op);

// Two maps for each tap, so there may be very many, and one for each parameter.
std::vector<SourceMap> Sources(const OperatorDesc& op);

inline constexpr TensorShape kTensors[] = {
    {&kInputTensor, "{N, C, I..}"},
    {&kFilter, "{O, c, F..}"},
    quantization::Parameter(kInputScale, quantization::kOfAll),
    quantization::Parameter(kInputZeroPoint, quantization::kOfAll),
    quantization::Parameter(kFilterScale, quantization::kOfChannels),
    quantization::Parameter(kFilterZeroPoint, quantization::kOfChannels),
    quantization::Parameter(kOutputScale, quantization::kOfAll),
    quantization::Parameter(kOutputZeroPoint, quantization::kOfAll),
    {&kBias, "{1, O, 1..}"},
    {&kSums, "{N, O, P..}"},
    {&kIntegers, "{N, O, P..}"},
};
inline constexpr Signature kIntegerShapes = {"CVI-1", "CVI-1", kTensors};
inline constexpr Signature kQuantizedShapes = {"QCV-1", "QCV-1", kTensors};

}  // namespace dmlop::integer_convolution
