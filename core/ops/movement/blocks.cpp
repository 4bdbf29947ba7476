// SPDX-License-Identifier: Apache-2.0
// Operators that move blocks of images.
#include <optional>

#include "core/base/text.h"
#include "core/engine/window/unfold.h"
#include "core/ops/inference.h"
#include "core/ops/windows.h"

namespace dmlop::blocks {
namespace {

// --- UNFOLD --------------------------------------------------------------------------------------

// DML_UNFOLD_OPERATOR_DESC: copies every position of a sliding window into a column ("im2col").
// The input has shape (N, C, S0, .., S(D-1)), the output (N, C * prod(WindowSizes), BlockCount):
//
//   BlockCount = prod(Blocks)
//   Output[n, c * prod(W) + lin(t), lin(b)] = Input[n, c, p], or 0 where p lies in the padding
//
// with the blocks b (outputs), taps t and positions p of ops/windows.h.

void InferUnfold(const OperatorDesc& op, Inference& infer) {
  const size_t count = op[windows::kWindowSizes].size();
  const Sizes& input = op.sizes(kInputTensor);
  if (!infer.Require(input.size() == count + 2, "UNF-2", SizesOf(infer.tensor(kInputTensor)),
                     "{}; expected {}, two more than WindowSizes has",
                     Counted(input.size(), "dimension"), count + 2)) {
    return;
  }
  const auto counts = windows::CountWindows(op, input, kOutputTensor, infer);
  if (!counts) return;
  Sizes sizes = {input[0], counts->rows, counts->blocks};
  const size_t rank = op[kOutputTensor].rank();
  if (rank != 0 && rank != 3 && rank == input.size()) sizes.insert(sizes.begin(), rank - 3, 1);
  infer.Output("UNF-4", kOutputTensor, sizes);
}

std::vector<UnfoldDim> DimsOf(const OperatorDesc& op, const Layout& input) {
  std::vector<UnfoldDim> dims;
  for (WindowAxis axis : windows::AxesOf(op, op.sizes(kInputTensor))) {
    const int64_t blocks = axis.Outputs();
    // A step that is never taken may exceed the range of offsets.
    if (blocks == 1) axis.stride = 1;
    dims.push_back({axis, blocks, axis.size == 1 ? 0 : input.strides[dims.size() + 2]});
  }
  return dims;
}

std::vector<TensorMove> Taps(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const std::vector<UnfoldDim> dims = DimsOf(op, inputs[0].layout);
  std::vector<TensorMove> moves;
  for (const Move& move : UnfoldMoves(dims, inputs[0], outputs[0])) {
    moves.push_back({0, move.from, 0, move.to});
  }
  return moves;
}

std::optional<ElementBytes> Zero(const OperatorDesc&) {
  return ElementBytes{};
}

void Unfold(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  UnfoldWindows(DimsOf(op, inputs[0].layout), inputs[0], outputs[0]);
}

WindowPlace PlaceOf(const OperatorDesc& op, const Dims& output_index) {
  const std::vector<UnfoldDim> dims = DimsOf(op, LayoutOf(op[kInputTensor]));
  Dims windows, blocks;
  for (const UnfoldDim& dim : dims) {
    windows.push_back(dim.window);
    blocks.push_back(dim.blocks);
  }
  const size_t rank = output_index.size();
  const int64_t row = output_index[rank - 2];
  WindowPlace place{IndexOf(blocks, output_index[rank - 1]),
                    IndexOf(windows, row % Product(windows)),
                    row / Product(windows),
                    {},
                    false};
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t position = dims[d].Position(place.block[d], place.tap[d]);
    place.position.push_back(position);
    place.in_padding |= position < 0 || position >= dims[d].size;
  }
  return place;
}

// --- depth and space -----------------------------------------------------------------------------

// DML_DEPTH_TO_SPACE_OPERATOR_DESC and DML_DEPTH_TO_SPACE1_OPERATOR_DESC spread channels over
// square blocks of a plane; DML_SPACE_TO_DEPTH_OPERATOR_DESC and DML_SPACE_TO_DEPTH1_OPERATOR_DESC
// are the inverse.

enum Order : uint32_t { kDepthColumnRow, kColumnRowDepth };
constexpr std::string_view kOrderNames[] = {"DEPTH_COLUMN_ROW", "COLUMN_ROW_DEPTH"};
constexpr auto kBlockSize = field::Uint("BlockSize", {.min = 1, .rule = "DSP-1"});
constexpr auto kOrder = field::Enum("Order", {"DML_DEPTH_SPACE_ORDER_", kOrderNames});
constexpr auto kBlockFields = Fields(kInputTensor, kOutputTensor, kBlockSize);
constexpr auto kOrderedFields = Fields(kInputTensor, kOutputTensor, kBlockSize, kOrder);

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
    OperatorRow("UNFOLD", {windows::kFields, "UNF-5", InferUnfold},
                Movement{.moves = Taps, .fill = Zero, .run = Unfold, .window = PlaceOf}),
    OperatorRow("DEPTH_TO_SPACE", {kBlockFields, "MOV-1", InferToSpace}, Movement{ToSpace}),
    OperatorRow("SPACE_TO_DEPTH", {kBlockFields, "MOV-1", InferToDepth}, Movement{ToDepth}),
    OperatorRow("DEPTH_TO_SPACE1", {kOrderedFields, "MOV-1", InferToSpace}, Movement{ToSpace}),
    OperatorRow("SPACE_TO_DEPTH1", {kOrderedFields, "MOV-1", InferToDepth}, Movement{ToDepth}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::blocks
