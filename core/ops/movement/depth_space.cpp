// SPDX-License-Identifier: Apache-2.0
// DML_DEPTH_TO_SPACE_OPERATOR_DESC and DML_DEPTH_TO_SPACE1_OPERATOR_DESC spread channels over
// square blocks of a plane; DML_SPACE_TO_DEPTH_OPERATOR_DESC and DML_SPACE_TO_DEPTH1_OPERATOR_DESC
// are the inverse.
#include "core/ops/inference.h"

namespace dmlop::depth_space {
namespace {

enum Order : uint32_t { kDepthColumnRow, kColumnRowDepth };
constexpr std::string_view kOrderNames[] = {"DEPTH_COLUMN_ROW", "COLUMN_ROW_DEPTH"};
constexpr auto kBlockSize = field::Uint("BlockSize", {.min = 1, .rule = "DSP-1"});
constexpr auto kOrder = field::Enum("Order", {"DML_DEPTH_SPACE_ORDER_", kOrderNames});
constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kBlockSize};
constexpr const Field* kOrderedFields[] = {&kInputTensor, &kOutputTensor, &kBlockSize, &kOrder};

constexpr SupportRow kRows[] = {
    {Level(1, 0), 4, 4, {types::kFloats}},
    {Level(2, 1), 4, 4, {types::kUpTo32}},
    {Level(5, 0), 4, 4, {types::kAll}},
};
constexpr SupportTable kOrderedSupport[] = {{std::span(kRows).subspan(1)}};

constexpr size_t kRank = 4;

bool RequireMultiple(const OperatorDesc& op, size_t d, uint64_t divisor, Inference& infer) {
  const TensorAt input = infer.tensor(kInputTensor);
  return infer.Require(input.sizes()[d] % divisor == 0, "DSP-2", SizeAt(input, d),
                       "{} is not a multiple of {} for a BlockSize of {}", input.sizes()[d],
                       divisor, op[kBlockSize]);
}

// Inputs of other ranks are reported by the check of the feature level.
void InferToSpace(const OperatorDesc& op, Inference& infer) {
  const Sizes& input = op.sizes(kInputTensor);
  if (input.size() != kRank) return;
  const uint64_t block = op[kBlockSize];
  if (!RequireMultiple(op, 1, block * block, infer)) return;
  infer.Output("DSP-1", kOutputTensor,
               std::vector<uint64_t>{input[0], input[1] / (block * block), input[2] * block,
                                     input[3] * block});
}

void InferToDepth(const OperatorDesc& op, Inference& infer) {
  const Sizes& input = op.sizes(kInputTensor);
  if (input.size() != kRank) return;
  const uint64_t block = op[kBlockSize];
  const bool rows_fit = RequireMultiple(op, 2, block, infer);
  const bool columns_fit = RequireMultiple(op, 3, block, infer);
  if (!rows_fit || !columns_fit) return;
  infer.Output("DSP-1", kOutputTensor,
               std::vector<uint64_t>{input[0], input[1] * (block * block), input[2] / block,
                                     input[3] / block});
}

// Views a tensor as {N, channels of the wide tensor, rows of blocks, rows in a block, columns of
// blocks, columns in a block}. The deep tensor has the elements of a block in its channels,
template <typename View>
View Deep(const OperatorDesc& op, View tensor) {
  const auto [sizes, strides] = tensor.layout;
  const uint32_t* order = op.find_if_known(kOrder);
  const int64_t block = op[kBlockSize];
  const int64_t channels = sizes[1] / (block * block);
  const bool blocks_first = order == nullptr || *order == kDepthColumnRow;
  const int64_t element = strides[1] * (blocks_first ? channels : 1);
  const int64_t channel = strides[1] * (blocks_first ? 1 : block * block);
  tensor.layout = {{sizes[0], channels, sizes[2], block, sizes[3], block},
                   {strides[0], channel, strides[2], element * block, strides[3], element}};
  return tensor;
}

// and the wide tensor has them in its rows and columns.
template <typename View>
View Wide(const OperatorDesc& op, View tensor) {
  const auto [sizes, strides] = tensor.layout;
  const int64_t block = op[kBlockSize];
  tensor.layout = {
      {sizes[0], sizes[1], sizes[2] / block, block, sizes[3] / block, block},
      {strides[0], strides[1], strides[2] * block, strides[2], strides[3] * block, strides[3]}};
  return tensor;
}

std::vector<TensorMove> ToSpace(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  return {{0, Deep(op, inputs[0]), 0, Wide(op, outputs[0])}};
}

std::vector<TensorMove> ToDepth(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  return {{0, Wide(op, inputs[0]), 0, Deep(op, outputs[0])}};
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("DEPTH_TO_SPACE", {kFields, kSupportBy<kRows>, "MOV-1", InferToSpace},
                Movement{ToSpace}),
    OperatorRow("SPACE_TO_DEPTH", {kFields, kSupportBy<kRows>, "MOV-1", InferToDepth},
                Movement{ToDepth}),
    OperatorRow("DEPTH_TO_SPACE1", {kOrderedFields, kOrderedSupport, "MOV-1", InferToSpace},
                Movement{ToSpace}),
    OperatorRow("SPACE_TO_DEPTH1", {kOrderedFields, kOrderedSupport, "MOV-1", InferToDepth},
                Movement{ToDepth}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::depth_space
