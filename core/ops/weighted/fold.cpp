// DML_FOLD_OPERATOR_DESC: the sum of overlapping windows that lie in columns, as UNFOLD puts them
// there ("col2im"). With the blocks b, taps t and positions p of ops/windows.h,
//
//   Output[n, c, s] = sum of Input[n, c * prod(W) + lin(t), lin(b)] over all b and t with p = s
#include <algorithm>
#include <memory>
#include <optional>

#include "core/base/integer_division.h"
#include "core/engine/weighted/weighted_sum.h"
#include "core/ops/windows.h"

namespace dmlop::fold {
namespace {

using namespace windows;

constexpr SupportRow kRows[] = {
    {Level(6, 4), 3, 8, {types::kUpTo32 | types::kInt64s}},
};
constexpr SupportTable kSupport[] = {{kRows}};
constexpr Rule kRules[] = {
    kCounts,
    {"MOV-1", "input and output agree in DataType"},
    {"FLD-1",
     "the output has two dimensions more than WindowSizes, the input 3 or as many as the output"},
    {"FLD-2",
     "the input is {N, C * prod(WindowSizes), BlockCount} for the output's sizes; as many "
     "dimensions "
     "of size 1 may come before them as give it the output's rank"},
    kFit,
    kNoZeros,
};

// The output's spatial sizes are not implied.
void Infer(const OperatorDesc& op, Inference& infer) {
  if (!op[kOutputTensor].sizes) return;
  const TensorAt output = infer.tensor(kOutputTensor);
  const size_t rank = op[kWindowSizes].size() + 2;
  if (!infer.Require(output.sizes().size() == rank, "FLD-1", SizesOf(output),
                     "{} dimensions; expected {}, two more than WindowSizes has",
                     output.sizes().size(), rank)) {
    return;
  }
  const auto counts = CountWindows(op, output.sizes(), kInputTensor, infer);
  if (!counts) return;
  const TensorAt input = infer.tensor(kInputTensor);
  const size_t input_rank = input.sizes().size();
  if (!infer.Require(input_rank == 3 || input_rank == rank, "FLD-1", SizesOf(input),
                     "{} dimensions; expected 3 or {}, as many as the output has", input_rank,
                     rank)) {
    return;
  }
  Sizes sizes = {output.sizes()[0], counts->rows, counts->blocks};
  if (input_rank == rank) sizes.insert(sizes.begin(), rank - 3, 1);
  infer.RequireSizes("FLD-2", input, sizes);
}

// One spatial dimension.
struct FoldAxis {
  int64_t window, stride, dilation, padding, blocks;
  int64_t tap_step, block_step;  // in rows and columns, from one to the next

  // The block that tap t of has at a position; none where there is no such.
  std::optional<int64_t> BlockAt(int64_t position, int64_t tap) const {
    const int64_t begin = position + padding - tap * dilation;
    if (begin < 0 || begin % stride != 0 || begin / stride >= blocks) return std::nullopt;
    return begin / stride;
  }
};

std::vector<FoldAxis> AxesOf(const OperatorDesc& op) {
  std::vector<FoldAxis> axes(op[kWindowSizes].size());
  int64_t rows = 1;
  int64_t columns = 1;
  for (size_t d = axes.size(); d-- > 0;) {
    const int64_t blocks = BlocksAlong(op, d, op.sizes(kOutputTensor)[d + 2]);
    axes[d] = {op[kWindowSizes][d],
               op[kStrides][d],
               op[kDilations][d],
               op[kStartPadding][d],
               blocks,
               rows,
               columns};
    rows *= axes[d].window;
    columns *= blocks;
  }
  return axes;
}

int64_t WindowSize(const OperatorDesc& op) {
  const std::vector<uint32_t>& sizes = op[kWindowSizes];
  return Product(Dims(sizes.begin(), sizes.end()));
}

TapFunction OneTap(int64_t step) {
  return [step](int64_t index) -> AxisTaps { return {{index * step}, {Dyadic(1)}, Dyadic(1)}; };
}

WeightedSource Source(const OperatorDesc& op, const ConstTensorView& input) {
  const Dims& strides = input.layout.strides;
  const size_t n = strides.size() - 3;  // behind leading 1s
  WeightedSource source{input, {}, WeightedSource::kRound};
  if (!IsFloat(input.type)) source.rule = WeightedSource::kWrap;
  source.axes = {OneTap(strides[n]), OneTap(WindowSize(op) * strides[n + 1])};
  for (const FoldAxis& axis : AxesOf(op)) {
    const int64_t row = axis.tap_step * strides[n + 1];
    const int64_t column = axis.block_step * strides[n + 2];
    source.axes.push_back([=](int64_t index) {
      AxisTaps taps{{}, {}, Dyadic(1)};
      const int64_t place = index + axis.padding;
      const int64_t last_begin = (axis.blocks - 1) * axis.stride;
      const int64_t first = std::max<int64_t>(0, CeilDiv(place - last_begin, axis.dilation));
      const int64_t last = std::min(axis.window - 1, place / axis.dilation);
      for (int64_t tap = first; tap <= last; ++tap) {
        const auto block = axis.BlockAt(index, tap);
        if (block) taps.offsets.push_back(tap * row + *block * column);
      }
      taps.parts.assign(taps.offsets.size(), Dyadic(1));
      return taps;
    });
  }
  return source;
}

// The part of the input that a part of the output has from one tap of the window.
std::optional<Region> RegionOf(const std::vector<FoldAxis>& axes, const Dims& taps,
                               int64_t window_size, size_t input_rank, const Region& output) {
  int64_t row = 0;
  int64_t first = 0;
  int64_t last = 0;
  for (size_t d = 0; d < axes.size(); ++d) {
    const FoldAxis& axis = axes[d];
    const int64_t begin = output.begin[d + 2] + axis.padding - taps[d] * axis.dilation;
    const int64_t end = begin + output.sizes[d + 2] - 1;
    const int64_t first_block = std::max<int64_t>(0, CeilDiv(begin, axis.stride));
    const int64_t last_block = std::min(axis.blocks - 1, FloorDiv(end, axis.stride));
    if (last_block < first_block) return std::nullopt;
    row += taps[d] * axis.tap_step;
    first += first_block * axis.block_step;
    last += last_block * axis.block_step;
  }
  Region region{0, Dims::Filled(input_rank - 3, 0), Dims::Filled(input_rank - 3, 1)};
  region.begin.push_back(output.begin[0]);
  region.sizes.push_back(output.sizes[0]);
  region.begin.push_back(output.begin[1] * window_size + row);
  region.sizes.push_back((output.sizes[1] - 1) * window_size + 1);
  region.begin.push_back(first);
  region.sizes.push_back(last - first + 1);
  return region;
}

// A map for each tap, of which there may be very many.
std::vector<SourceMap> Sources(const OperatorDesc& op) {
  const auto axes = std::make_shared<const std::vector<FoldAxis>>(AxesOf(op));
  std::vector<SourceMap> maps;
  for (int64_t i = 0; i < WindowSize(op); ++i) {
    maps.push_back([axes, &op, i](const Region& output) {
      const std::vector<uint32_t>& windows = op[kWindowSizes];
      const Dims taps = IndexOf(Dims(windows.begin(), windows.end()), i);
      return RegionOf(*axes, taps, WindowSize(op), op[kInputTensor].rank(), output);
    });
  }
  return maps;
}

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  SumTaps(Source(op, inputs[0]), begin, outputs[0]);
}

constexpr OperatorInfo kOperators[] = {
    {.name = "FOLD",
     .summary = "sums sliding windows that lie in columns (col2im)",
     .fields = kFields,
     .support = kSupport,
     .type_rule = "MOV-1",
     .rules = kRules,
     .infer = Infer,
     .family = Placed{.run = Run, .sources = Sources, .weights = Source}},
};

}  // namespace

std::span<const OperatorInfo> Operators() {
  return kOperators;
}

}  // namespace dmlop::fold
