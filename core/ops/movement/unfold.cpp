// SPDX-License-Identifier: Apache-2.0
// DML_UNFOLD_OPERATOR_DESC: copies every position of a sliding window into a column ("im2col").
// The input has shape (N, C, S0, .., S(D-1)), the output (N, C * prod(WindowSizes), BlockCount):
//
//   BlockCount = prod(Blocks)
//   Output[n, c * prod(W) + lin(t), lin(b)] = Input[n, c, p], or 0 where p lies in the padding
//
// with the blocks b (outputs), taps t and positions p of ops/windows.h.
#include <optional>

#include "core/base/text.h"
#include "core/engine/window/unfold.h"
#include "core/ops/inference.h"
#include "core/ops/windows.h"

namespace dmlop::unfold {
namespace {

using namespace windows;

constexpr SupportRow kRows[] = {{Level(6, 4), 3, 8, {types::kAll}}};

void Infer(const OperatorDesc& op, Inference& infer) {
  const size_t count = op[kWindowSizes].size();
  const Sizes& input = op.sizes(kInputTensor);
  if (!infer.Require(input.size() == count + 2, "UNF-2", SizesOf(infer.tensor(kInputTensor)),
                     "{}; expected {}, two more than WindowSizes has",
                     Counted(input.size(), "dimension"), count + 2)) {
    return;
  }
  const auto counts = CountWindows(op, input, kOutputTensor, infer);
  if (!counts) return;
  Sizes sizes = {input[0], counts->rows, counts->blocks};
  const size_t rank = op[kOutputTensor].rank();
  if (rank != 0 && rank != 3 && rank == input.size()) sizes.insert(sizes.begin(), rank - 3, 1);
  infer.Output("UNF-4", kOutputTensor, sizes);
}

std::vector<UnfoldDim> DimsOf(const OperatorDesc& op, const Layout& input) {
  std::vector<UnfoldDim> dims;
  for (WindowAxis axis : AxesOf(op, op.sizes(kInputTensor))) {
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

constexpr OperatorInfo kOperators[] = {
    OperatorRow("UNFOLD", {kFields, kSupportBy<kRows>, "UNF-5", Infer},
                Movement{.moves = Taps, .fill = Zero, .run = Unfold, .window = PlaceOf}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::unfold
