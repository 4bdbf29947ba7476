// DML_UNFOLD_OPERATOR_DESC: copies every position of a sliding window into a column ("im2col").
// The input has shape (N, C, S0, .., S(D-1)), the output (N, C * prod(WindowSizes), BlockCount):
//
//   Blocks[d]  = floor((S[d] + StartPadding[d] + EndPadding[d] - Dilations[d] * (WindowSizes[d] -
//                1) - 1) / Strides[d]) + 1
//   BlockCount = prod(Blocks)
//   Output[n, c * prod(W) + lin(t), lin(b)] = Input[n, c, p], or 0 where p lies in the padding;
//   p[d] = b[d] * Strides[d] - StartPadding[d] + t[d] * Dilations[d]
#include <algorithm>
#include <optional>

#include "core/base/checked_math.h"
#include "core/engine/window/unfold_geometry.h"
#include "core/engine/window/unfold_moves.h"
#include "core/ops/inference.h"
#include "core/ops/rows.h"

namespace dmlop {
namespace {

constexpr uint32_t kMaxSpatialRank = kMaxRank - 2;
constexpr Limits Spatial(uint32_t min) {
  return {.min = min,
          .rule = min > 0 ? "UNF-11" : "",
          .min_count = 1,
          .max_count = kMaxSpatialRank,
          .count_rule = "UNF-1"};
}
constexpr auto kWindowSizes = field::Uints("WindowSizes", Spatial(1));
constexpr auto kStrides = field::Uints("Strides", Spatial(1));
constexpr auto kDilations = field::Uints("Dilations", Spatial(1));
constexpr auto kStartPadding = field::Uints("StartPadding", Spatial(0));
constexpr auto kEndPadding = field::Uints("EndPadding", Spatial(0));
constexpr const Field* kFields[] = {&kInputTensor, &kOutputTensor, &kDimensionCount, &kWindowSizes,
                                    &kStrides,     &kDilations,    &kStartPadding,   &kEndPadding};

constexpr SupportRow kRows[] = {{Level(6, 4), 3, 8, {types::kAll}}};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    {"UNF-1", "1 to 6 spatial dimensions, as many in each of the five arrays"},
    {"UNF-2", "the input has two dimensions more"},
    {"UNF-4",
     "the output is {N, C * prod(WindowSizes), BlockCount}, or that behind leading 1s up to the "
     "input's rank"},
    {"UNF-5", "input and output agree in DataType"},
    {"UNF-10", "the padded input holds at least one window"},
    {"UNF-11", "WindowSizes, Strides and Dilations are not 0"},
};

int64_t PaddedSize(const OperatorDesc& op, size_t d) {
  return int64_t{op.sizes(kInputTensor)[d + 2]} + op[kStartPadding][d] + op[kEndPadding][d];
}

// What a window covers, dilation included; saturates, since a product of two 32-bit numbers and a
// little more does not fit in 64 signed bits.
int64_t WindowExtent(const OperatorDesc& op, size_t d) {
  const CheckedU64 reach = CheckedMul(op[kDilations][d], uint64_t{op[kWindowSizes][d]} - 1);
  constexpr uint64_t kFar = uint64_t{1} << 62;
  return static_cast<int64_t>(std::min(reach.value_or(kFar), kFar)) + 1;
}

int64_t BlocksAlong(const OperatorDesc& op, size_t d) {
  return (PaddedSize(op, d) - WindowExtent(op, d)) / op[kStrides][d] + 1;
}

void Infer(const OperatorDesc& op, Inference& infer) {
  const size_t count = op[kWindowSizes].size();
  const Sizes& input = op.sizes(kInputTensor);
  if (!infer.Require(input.size() == count + 2, "UNF-2", SizesOf(infer.tensor(kInputTensor)),
                     "{} dimensions; expected {}, two more than WindowSizes has", input.size(),
                     count + 2)) {
    return;
  }
  CheckedU64 rows = input[1];
  CheckedU64 columns = 1;
  bool all_fit = true;
  for (size_t d = 0; d < count; ++d) {
    if (!infer.Require(PaddedSize(op, d) >= WindowExtent(op, d), "UNF-10", At(kWindowSizes, d),
                       "a window of {} with a dilation of {} does not fit into the padded size {}",
                       op[kWindowSizes][d], op[kDilations][d], PaddedSize(op, d))) {
      all_fit = false;
      continue;
    }
    rows = CheckedMul(rows, op[kWindowSizes][d]);
    columns = CheckedMul(columns, static_cast<uint64_t>(BlocksAlong(op, d)));
  }
  if (!all_fit) return;
  const bool is_possible = rows && columns && *rows <= UINT32_MAX && *columns <= UINT32_MAX;
  if (!infer.Require(is_possible, "BUF-11", {kOutputTensor.name, std::nullopt, "Sizes"},
                     "the windows have more elements than a tensor may have")) {
    return;
  }
  Sizes sizes = {input[0], static_cast<uint32_t>(*rows), static_cast<uint32_t>(*columns)};
  const size_t rank = op[kOutputTensor].rank();
  if (rank != 0 && rank != 3 && rank == input.size()) sizes.insert(sizes.begin(), rank - 3, 1);
  infer.Output("UNF-4", kOutputTensor, sizes);
}

std::vector<UnfoldDim> DimsOf(const OperatorDesc& op, const Layout& input) {
  std::vector<UnfoldDim> dims;
  for (size_t d = 0; d < op[kWindowSizes].size(); ++d) {
    const int64_t size = input.sizes[d + 2];
    const int64_t blocks = BlocksAlong(op, d);
    // Steps that are never taken may be too long for an offset.
    dims.push_back({size, op[kWindowSizes][d], blocks, blocks == 1 ? 1 : op[kStrides][d],
                    op[kDilations][d], op[kStartPadding][d], size == 1 ? 0 : input.strides[d + 2]});
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
    const int64_t position = Position(dims[d], place.block[d], place.tap[d]);
    place.position.push_back(position);
    place.in_padding |= position < 0 || position >= dims[d].size;
  }
  return place;
}

constexpr OperatorInfo kOperators[] = {
    {.name = "UNFOLD",
     .summary = "copies sliding windows into columns (im2col)",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "UNF-5",
     .rules = kRules,
     .infer = Infer,
     .family = Movement{.moves = Taps, .fill = Zero, .run = Unfold, .window = PlaceOf}},
};

}  // namespace

std::span<const OperatorInfo> UnfoldOperators() {
  return kOperators;
}

}  // namespace dmlop
