// SPDX-License-Identifier: Apache-2.0
// DML_CONVOLUTION_OPERATOR_DESC: sums of products of a filter with windows of the input, or the
// transpose of that. For the channels c of a group and the taps k of the filter
//
//   FORWARD   Output[n, o, p] = Bias[o] + sum of Input[n, c, p * S - SP + k * L] * Filter[o, c, k]
//   BACKWARD  Output[n, o, p] = Bias[o] + sum of Input[n, c, i] * Filter[c, o, k]
//                               over p + SP - k * L = i * S
//
// with the strides S, dilations L and the start padding SP. In the mode CONVOLUTION the filter is
// turned around in every spatial dimension.
//
// BACKWARD is a forward convolution for each residue of p modulo S: the taps with the right residue
// of k * L contribute, and they read adjacent elements.
#include <vector>

#include "core/ops/contraction/convolution_windows.h"
#include "core/ops/hardware_tolerance.h"

namespace dmlop::convolution {
namespace {

constexpr auto kFields =
    Fields(kInputTensor, kFilterTensor, kBiasTensor, kOutputTensor, kMode, kDirection,
           kDimensionCount, kWindows.strides, kWindows.dilations, kWindows.start_padding,
           kWindows.end_padding, kOutputPadding, kGroupCount, kActivation);

// An output has one term for each tap of the window and each channel of its group.
Tolerance HardwareTolerance(const OperatorDesc& op) {
  std::vector<uint32_t> terms = op.sizes(kFilterTensor);
  terms[0] = 1;
  terms[1] = op.sizes(kInputTensor)[1] / op[kGroupCount];
  return UlpOfSum(terms, 2, 0);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("CONVOLUTION", {kFields, "CONV-1", InferBy<kShapes>, &kShapes},
                Computed{.run = Run,
                         .sources = SourcesBy<kShapes>,
                         .operations = OperationsBy<kShapes>,
                         .formula = Meaning},
                {.hardware_tolerance = HardwareTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::convolution
