// SPDX-License-Identifier: Apache-2.0
// DML_TILE_OPERATOR_DESC: repeats the input Repeats times along each dimension.
#include "core/ops/inference.h"

namespace dmlop::tile {
namespace {

constexpr auto kRepeatsCount = field::Count("RepeatsCount");
constexpr auto kRepeats = field::Uints("Repeats", {.min = 1,
                                                   .rule = "TIL-1",
                                                   .min_count = 1,
                                                   .max_count = kMaxRank,
                                                   .count_rule = "TIL-1",
                                                   .per_dimension = true});
constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kRepeatsCount, &kRepeats};

constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(3, 1), 1, 8, {types::kUpTo32}},
    {Level(4, 1), 1, 8, {types::kUpTo32 | types::kInt64s}},
};

void Infer(const OperatorDesc& op, Inference& infer) {
  std::vector<uint64_t> sizes;
  for (size_t d = 0; d < op[kRepeats].size(); ++d) {
    sizes.push_back(uint64_t{op.sizes(kInputTensor)[d]} * op[kRepeats][d]);
  }
  infer.Output("TIL-1", kOutputTensor, sizes);
}

std::vector<TensorMove> Tile(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  TensorMove move{0, inputs[0], 0, outputs[0]};
  move.from.layout = {};
  move.to.layout = {};
  for (size_t d = 0; d < op[kRepeats].size(); ++d) {
    const int64_t size = inputs[0].layout.sizes[d];
    const int64_t stride = outputs[0].layout.strides[d];
    if (op[kRepeats][d] > 1) move.PushDim(op[kRepeats][d], 0, size * stride);
    move.PushDim(size, inputs[0].layout.strides[d], stride);
  }
  return {move};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("TILE", {kFields, kSupportBy<kRows>, "MOV-1", Infer}, Movement{Tile}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::tile
