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
// BACKWARD is a forward convolution for each residue of p modulo S: those taps reach it whose k * L
// has the right residue, and the elements that they read are neighbours.
#include <algorithm>
#include <utility>

#include "core/base/checked_math.h"
#include "core/ops/contraction/convolution_windows.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

using namespace convolution;

constexpr const Field* kFields[] = {
    &kInputTensor, &kFilterTensor,   &kBiasTensor, &kOutputTensor, &kMode,
    &kDirection,   &kDimensionCount, &kStrides,    &kDilations,    &kStartPadding,
    &kEndPadding,  &kOutputPadding,  &kGroupCount, &kActivation};

constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 5, {types::kFloats}},
    {Level(4, 0), 3, 5, {types::kFloats}},
};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"CONV-1", "the tensors agree in DataType and DimensionCount"},
    {"CONV-2",
     "GroupCount divides the channels; the filter is {O, C / G, K...} or, BACKWARD, {C, O / G, "
     "K...}, the bias {1, O, 1...}, the output {N, O, ...}"},
    {"CONV-4", "the padded input holds a window, and the output has a position for each"},
    {"CTR-4", "each array has an entry for each spatial dimension"},
    {"CTR-5", "Strides, Dilations and GroupCount are not 0"},
    kCanBeFused,
    kFusedHasNoTensors,
};

// --- rules ---------------------------------------------------------------------------------------

bool RequireCounts(const OperatorDesc& op, Inference& infer) {
  const size_t rank = op[kInputTensor].rank();
  return infer.Require(SpatialRank(op) + 2 == rank, "CTR-4", At(kStrides),
                       "{} entries; expected {}, two less than InputTensor has dimensions",
                       SpatialRank(op), static_cast<int64_t>(rank) - 2);
}

bool RequireChannels(const OperatorDesc& op, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  const TensorAt filter = infer.tensor(kFilterTensor);
  if (!infer.RequireSameRank("CONV-1", filter, input)) return false;
  const uint32_t groups = op[kGroupCount];
  const uint32_t channels = input.sizes()[1];
  if (!infer.Require(channels % groups == 0, "CONV-2", At(kGroupCount),
                     "{} does not divide the {} channels of InputTensor", groups, channels)) {
    return false;
  }
  const uint32_t first = filter.sizes()[0];
  if (!IsForward(op)) {
    return infer.Require(first == channels, "CONV-2", SizeAt(filter, 0),
                         "{}; expected {}, the channels of InputTensor", first, channels);
  }
  return infer.Require(first % groups == 0, "CONV-2", SizeAt(filter, 0),
                       "{} is no multiple of the {} groups", first, groups) &&
         infer.Require(filter.sizes()[1] == channels / groups, "CONV-2", SizeAt(filter, 1),
                       "{}; expected {}, the channels of a group", filter.sizes()[1],
                       channels / groups);
}

// The sizes of the output; empty where a window does not fit.
std::vector<uint64_t> InferPositions(const OperatorDesc& op, Inference& infer) {
  std::vector<uint64_t> sizes = {op.sizes(kInputTensor)[0], OutputChannels(op)};
  bool all_fit = true;
  for (size_t d = 0; d < SpatialRank(op); ++d) {
    const int64_t windows = WindowPositions(op, d);
    if (IsForward(op)) {
      all_fit &= infer.Require(windows > 0, "CONV-4", SizeAt(infer.tensor(kFilterTensor), d + 2),
                               "a window of {} with a dilation of {} does not fit into the padded "
                               "size {}",
                               KernelSize(op, d), op[kDilations][d],
                               op.sizes(kInputTensor)[d + 2] + Padding(op, d));
    }
    const int64_t size = windows + op[kOutputPadding][d];
    all_fit &= infer.Require(IsForward(op) || size > 0, "CONV-4", At(kStartPadding, d),
                             "the paddings leave {} positions", size);
    sizes.push_back(static_cast<uint64_t>(std::max<int64_t>(size, 0)));
  }
  return all_fit ? sizes : std::vector<uint64_t>();
}

// BACKWARD, without OutputPadding, several sizes have the same windows forward.
bool MayBeLarger(const OperatorDesc& op, size_t d) {
  return !IsForward(op) && op[kOutputPadding][d] == 0;
}

void InferOutput(const OperatorDesc& op, std::vector<uint64_t> sizes, Inference& infer) {
  if (op[kOutputTensor].sizes && op[kOutputTensor].rank() == sizes.size()) {
    const TensorAt output = infer.tensor(kOutputTensor);
    for (size_t d = 0; d < SpatialRank(op); ++d) {
      if (!MayBeLarger(op, d)) continue;
      const uint64_t least = sizes[d + 2];
      const uint64_t most = least + std::max(op[kStrides][d], op[kDilations][d]) - 1;
      const uint64_t stated = output.sizes()[d + 2];
      if (!infer.Require(least <= stated && stated <= most, "CONV-4", SizeAt(output, d + 2),
                         "{}; expected {} to {}", stated, least, most)) {
        return;
      }
      sizes[d + 2] = stated;
    }
  }
  const bool has_rule_of_size =
      !op[kOutputTensor].sizes || op[kOutputTensor].rank() != sizes.size() ||
      (op.sizes(kOutputTensor)[0] == sizes[0] && op.sizes(kOutputTensor)[1] == sizes[1]);
  infer.Output(has_rule_of_size ? "CONV-4" : "CONV-2", kOutputTensor, sizes);
}

void Infer(const OperatorDesc& op, Inference& infer) {
  if (op[kInputTensor].rank() < 3) return;  // no level supports it
  if (!RequireCounts(op, infer) || !RequireChannels(op, infer)) return;
  if (op.Has(kBiasTensor) &&
      infer.RequireSameRank("CONV-1", infer.tensor(kBiasTensor), infer.tensor(kInputTensor))) {
    Sizes bias(op[kInputTensor].rank(), 1);
    bias[1] = static_cast<uint32_t>(OutputChannels(op));
    infer.RequireSizes("CONV-2", infer.tensor(kBiasTensor), bias);
  }
  const std::vector<uint64_t> sizes = InferPositions(op, infer);
  if (!sizes.empty()) InferOutput(op, sizes, infer);
}

constexpr OperatorInfo kOperators[] = {
    {.name = "CONVOLUTION",
     .summary = "sums of products of a filter with windows, or the transpose of that",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "CONV-1",
     .rules = kRules,
     .infer = Infer,
     .family = Placed{Run, Sources, Operations, Products}},
};

}  // namespace

std::span<const OperatorInfo> ConvolutionOperators() {
  return kOperators;
}

}  // namespace dmlop
