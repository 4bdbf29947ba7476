// SPDX-License-Identifier: Apache-2.0
// DML_JOIN_OPERATOR_DESC concatenates the input tensors along Axis; DML_SPLIT_OPERATOR_DESC cuts
// the input tensor into parts along Axis. Each is the inverse of the other.
#include <algorithm>
#include <numeric>

#include "core/ops/inference.h"

namespace dmlop::join_split {
namespace {

constexpr auto kInputCount = field::Count("InputCount");
constexpr auto kInputTensors =
    field::Tensors("InputTensors", TensorRole::kInput, "JOIN-1", "JOIN-5");
constexpr auto kJoinFields = Fields(kInputCount, kInputTensors, kOutputTensor, kAxis);

constexpr auto kOutputCount = field::Count("OutputCount");
constexpr auto kOutputTensors =
    field::Tensors("OutputTensors", TensorRole::kOutput, "SPLIT-1", "SPLIT-4");
constexpr auto kSplitFields = Fields(kInputTensor, kOutputCount, kOutputTensors, kAxis);

// Requires a part to have another tensor's sizes but along the axis. Returns whether ranks agree.
bool RequirePart(std::string_view rank_code, std::string_view sizes_code, const TensorAt& part,
                 const TensorAt& like, uint32_t axis, Inference& infer) {
  if (!infer.RequireSameRank(rank_code, part, like)) return false;
  Sizes expected = like.sizes();
  expected[axis] = part.sizes()[axis];
  infer.RequireSizes(sizes_code, part, expected);
  return true;
}

// Adds up the sizes of parts; unknown if one of them is.
uint64_t SumOf(const Sizes& parts) {
  return AreKnown(parts) ? std::accumulate(parts.begin(), parts.end(), uint64_t{0}) : 0;
}

void RequireSum(std::string_view code, const TensorAt& whole, uint32_t axis, const Sizes& sizes,
                const Field& parts, Inference& infer) {
  const uint32_t size = whole.sizes()[axis];
  const uint64_t sum = SumOf(sizes);
  infer.Require(Agree(size, sum), code, SizeAt(whole, axis),
                "the size along Axis is {}; expected {}, the sum of {}", size, sum, parts.name);
}

// --- JOIN ----------------------------------------------------------------------------------------

void InferJoin(const OperatorDesc& op, Inference& infer) {
  const uint32_t axis = op[kAxis];
  const TensorAt first = infer.tensor(kInputTensors, 0);
  if (!infer.RequireAxis("JOIN-4", At(kAxis), axis, first)) return;
  bool ranks_agree = true;
  Sizes parts = {first.sizes()[axis]};
  for (size_t i = 1; i < op[kInputTensors].size(); ++i) {
    const TensorAt input = infer.tensor(kInputTensors, i);
    ranks_agree &= RequirePart("JOIN-3", "JOIN-4", input, first, axis, infer);
    if (ranks_agree) parts.push_back(input.sizes()[axis]);
  }
  if (!op[kOutputTensor].sizes) {
    Sizes sizes = first.sizes();
    // Saturates: RequireSum then reports that this is not the sum.
    sizes[axis] = static_cast<uint32_t>(std::min<uint64_t>(SumOf(parts), UINT32_MAX));
    infer.Output("JOIN-4", kOutputTensor, sizes);
    if (!op[kOutputTensor].sizes) return;
  }
  const TensorAt output = infer.tensor(kOutputTensor);
  ranks_agree &= RequirePart("JOIN-3", "JOIN-4", output, first, axis, infer);
  if (ranks_agree) RequireSum("JOIN-4", output, axis, parts, kInputTensors, infer);
}

std::vector<TensorMove> Join(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  std::vector<TensorMove> moves;
  int64_t start = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t size = inputs[i].layout.sizes[op[kAxis]];
    moves.push_back({i, inputs[i], 0, outputs[0].Slice(op[kAxis], start, size)});
    start += size;
  }
  return moves;
}

// --- SPLIT ---------------------------------------------------------------------------------------

// Returns the size along the axis of each output without sizes: they share equally what is left.
std::optional<uint32_t> EqualPart(const OperatorDesc& op, size_t left_out) {
  Sizes parts;
  for (const TensorDesc& output : op[kOutputTensors]) {
    if (output.sizes && op[kAxis] < output.rank()) parts.push_back((*output.sizes)[op[kAxis]]);
  }
  const uint32_t whole = op.sizes(kInputTensor)[op[kAxis]];
  if (IsUnknown(whole) || !AreKnown(parts)) return 0;
  const uint64_t taken = SumOf(parts);
  if (taken >= whole || (whole - taken) % left_out != 0) return std::nullopt;
  return static_cast<uint32_t>((whole - taken) / left_out);
}

bool InferEqualParts(const OperatorDesc& op, Inference& infer) {
  const auto& outputs = op[kOutputTensors];
  const auto left_out = std::count_if(outputs.begin(), outputs.end(),
                                      [](const TensorDesc& output) { return !output.sizes; });
  if (left_out == 0) return true;
  Sizes sizes = op.sizes(kInputTensor);
  const auto part = EqualPart(op, static_cast<size_t>(left_out));
  if (!infer.Require(
          part.has_value(), "SPLIT-3", At(kOutputTensors),
          "the size {} of InputTensor along Axis, less the Sizes that are given, cannot be "
          "divided equally among {} OutputTensors",
          sizes[op[kAxis]], left_out)) {
    return false;
  }
  sizes[op[kAxis]] = *part;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].sizes) infer.Output("SPLIT-3", kOutputTensors, i, sizes);
  }
  return true;
}

void InferSplit(const OperatorDesc& op, Inference& infer) {
  const uint32_t axis = op[kAxis];
  const TensorAt input = infer.tensor(kInputTensor);
  if (!infer.RequireAxis("SPLIT-3", At(kAxis), axis, input)) return;
  if (!InferEqualParts(op, infer)) return;
  bool ranks_agree = true;
  Sizes parts;
  for (size_t i = 0; i < op[kOutputTensors].size(); ++i) {
    if (!op[kOutputTensors][i].sizes) return;
    const TensorAt output = infer.tensor(kOutputTensors, i);
    ranks_agree &= RequirePart("SPLIT-2", "SPLIT-3", output, input, axis, infer);
    if (ranks_agree) parts.push_back(output.sizes()[axis]);
  }
  if (ranks_agree) RequireSum("SPLIT-3", input, axis, parts, kOutputTensors, infer);
}

std::vector<TensorMove> Split(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  std::vector<TensorMove> moves;
  int64_t start = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t size = outputs[i].layout.sizes[op[kAxis]];
    moves.push_back({0, inputs[0].Slice(op[kAxis], start, size), i, outputs[i]});
    start += size;
  }
  return moves;
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("JOIN", {kJoinFields, "JOIN-3", InferJoin}, Movement{Join}),
    OperatorRow("SPLIT", {kSplitFields, "SPLIT-2", InferSplit}, Movement{Split}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::join_split
