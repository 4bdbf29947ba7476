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
#include <algorithm>
#include <span>
#include <vector>

#include "core/base/text.h"
#include "core/ops/contraction/convolution_windows.h"
#include "core/ops/hardware_tolerance.h"

namespace dmlop::convolution {
namespace {

constexpr auto kFields =
    Fields(kInputTensor, kFilterTensor, kBiasTensor, kOutputTensor, kMode, kDirection,
           kDimensionCount, kWindows.strides, kWindows.dilations, kWindows.start_padding,
           kWindows.end_padding, kOutputPadding, kGroupCount, kActivation);

// --- rules ---------------------------------------------------------------------------------------

bool RequireCounts(const OperatorDesc& op, Inference& infer) {
  const size_t rank = op[kInputTensor].rank();
  return infer.Require(SpatialRank(op) + 2 == rank, "CTR-4", At(kWindows.strides),
                       "{}; expected {}, two less than InputTensor has dimensions",
                       Counted(SpatialRank(op), "entry"), static_cast<int64_t>(rank) - 2);
}

void CheckChannels(const OperatorDesc& op, Inference& infer) {
  const TensorAt filter = infer.tensor(kFilterTensor);
  const uint32_t groups = op[kGroupCount];
  const uint32_t channels = op.sizes(kInputTensor)[1];
  const bool are_groups =
      infer.Require(channels % groups == 0, "CONV-2", At(kGroupCount),
                    "{} does not divide the {} channels of InputTensor", groups, channels);
  const uint32_t first = filter.sizes()[0];
  if (!IsForward(op)) {
    infer.Require(Agree(first, channels), "CONV-2", SizeAt(filter, 0),
                  "{}; expected {}, the channels of InputTensor", first, channels);
    return;
  }
  if (!are_groups) return;
  infer.Require(first % groups == 0, "CONV-2", SizeAt(filter, 0),
                "{} is no multiple of the {} groups", first, groups);
  infer.Require(Agree(filter.sizes()[1], channels / groups), "CONV-2", SizeAt(filter, 1),
                "{}; expected {}, the channels of a group", filter.sizes()[1], channels / groups);
}

// Returns the spatial sizes that the windows imply, which may be less than 1 with BACKWARD; empty
// if a window does not fit or a size is unknown.
std::vector<int64_t> InferPositions(const OperatorDesc& op, Inference& infer) {
  std::vector<int64_t> sizes;
  bool all_fit = true;
  for (size_t d = 0; d < SpatialRank(op); ++d) {
    all_fit &= !IsForward(op) || RequireFit("CONV-4", SizeAt(infer.tensor(kFilterTensor), d + 2),
                                            AxisAt(op, d), infer);
    all_fit &= IsKnown(AxisAt(op, d));
    sizes.push_back(WindowPositions(op, d) + op[kOutputPadding][d]);
  }
  return all_fit ? sizes : std::vector<int64_t>();
}

// Returns how much larger the output may be: with BACKWARD and without OutputPadding, several sizes
// have the same windows in the forward direction.
int64_t Leeway(const OperatorDesc& op, size_t d) {
  if (IsForward(op) || op[kOutputPadding][d] != 0) return 0;
  return int64_t{std::max(op[kWindows.strides][d], op[kWindows.dilations][d])} - 1;
}

// Returns the size of the output in dimension d, at least `least`; 0 if it is wrong.
uint64_t InferSize(const OperatorDesc& op, size_t d, int64_t least, bool is_stated,
                   Inference& infer) {
  const int64_t most = least + (is_stated ? Leeway(op, d) : 0);
  if (!infer.Require(most > 0, "CONV-4", At(kWindows.start_padding, d),
                     "the paddings leave {} positions", most)) {
    return 0;
  }
  if (!is_stated || Leeway(op, d) == 0) return static_cast<uint64_t>(least);
  const TensorAt output = infer.tensor(kOutputTensor);
  const int64_t stated = output.sizes()[d + 2];
  const int64_t first = std::max<int64_t>(least, 1);
  const bool is_right =
      infer.Require(first <= stated && stated <= most, "CONV-4", SizeAt(output, d + 2),
                    "{}; expected {} to {}", stated, first, most);
  return is_right ? static_cast<uint64_t>(stated) : 0;
}

void InferOutput(const OperatorDesc& op, std::span<const int64_t> positions, Inference& infer) {
  const size_t rank = positions.size() + 2;
  const bool is_stated = op[kOutputTensor].sizes && op[kOutputTensor].rank() == rank;
  std::vector<uint64_t> sizes = {op.sizes(kInputTensor)[0], OutputChannels(op)};
  for (size_t d = 0; d < positions.size(); ++d) {
    sizes.push_back(InferSize(op, d, positions[d], is_stated, infer));
  }
  if (std::find(sizes.begin() + 2, sizes.end(), 0u) != sizes.end()) return;
  const bool has_rule_of_size = !is_stated || (op.sizes(kOutputTensor)[0] == sizes[0] &&
                                               op.sizes(kOutputTensor)[1] == sizes[1]);
  infer.Output(has_rule_of_size ? "CONV-4" : "CONV-2", kOutputTensor, sizes);
}

void Infer(const OperatorDesc& op, Inference& infer) {
  if (op[kInputTensor].rank() < 3) return;  // no level supports it
  if (!RequireCounts(op, infer)) return;
  const TensorAt input = infer.tensor(kInputTensor);
  if (!infer.RequireSameRank("CONV-1", infer.tensor(kFilterTensor), input)) return;
  CheckChannels(op, infer);
  if (op.Has(kBiasTensor) && infer.RequireSameRank("CONV-1", infer.tensor(kBiasTensor), input)) {
    Sizes bias(op[kInputTensor].rank(), 1);
    bias[1] = static_cast<uint32_t>(OutputChannels(op));
    infer.RequireSizes("CONV-2", infer.tensor(kBiasTensor), bias);
  }
  const std::vector<int64_t> positions = InferPositions(op, infer);
  if (!positions.empty()) InferOutput(op, positions, infer);
}

// An output has one term for each tap of the window and each channel of its group.
Tolerance HardwareTolerance(const OperatorDesc& op) {
  std::vector<uint32_t> terms = op.sizes(kFilterTensor);
  terms[0] = 1;
  terms[1] = op.sizes(kInputTensor)[1] / op[kGroupCount];
  return UlpOfSum(terms, 2, 0);
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("CONVOLUTION", {kFields, "CONV-1", Infer},
                Computed{.run = Run,
                         .sources = SourcesBy<kShapes>,
                         .operations = OperationsBy<kShapes>,
                         .formula = Meaning},
                {.hardware_tolerance = HardwareTolerance}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::convolution
