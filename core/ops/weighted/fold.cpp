// SPDX-License-Identifier: Apache-2.0
// DML_FOLD_OPERATOR_DESC: sums overlapping windows that lie in columns, as UNFOLD puts them there
// ("col2im"). With the blocks b, taps t and positions p of ops/windows.h,
//
//   Output[n, c, s] = sum of Input[n, c * prod(W) + lin(t), lin(b)] over all b and t with p = s
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "core/base/integers.h"
#include "core/base/text.h"
#include "core/engine/weighted/weighted_sum.h"
#include "core/ops/windows.h"

namespace dmlop::fold {
namespace {

using namespace windows;

// The output's spatial sizes do not follow from the input.
void Infer(const OperatorDesc& op, Inference& infer) {
  if (!op[kOutputTensor].sizes) return;
  const TensorAt output = infer.tensor(kOutputTensor);
  const size_t rank = op[kWindowSizes].size() + 2;
  if (!infer.Require(output.sizes().size() == rank, "FLD-1", SizesOf(output),
                     "{}; expected {}, two more than WindowSizes has",
                     Counted(output.sizes().size(), "dimension"), rank)) {
    return;
  }
  const auto counts = CountWindows(op, output.sizes(), kInputTensor, infer);
  if (!counts) return;
  const TensorAt input = infer.tensor(kInputTensor);
  const size_t input_rank = input.sizes().size();
  if (!infer.Require(input_rank == 3 || input_rank == rank, "FLD-1", SizesOf(input),
                     "{}; expected 3 or {}, as many as the output has",
                     Counted(input_rank, "dimension"), rank)) {
    return;
  }
  Sizes sizes = {output.sizes()[0], counts->rows, counts->blocks};
  if (input_rank == rank) sizes.insert(sizes.begin(), rank - 3, 1);
  infer.RequireSizes("FLD-2", input, sizes);
}

// The windows along one spatial dimension.
struct FoldAxis : WindowAxis {
  int64_t blocks;
  int64_t tap_step, block_step;  // rows per tap, columns per block
};

std::vector<FoldAxis> FoldAxesOf(const OperatorDesc& op) {
  std::vector<FoldAxis> axes;
  for (const WindowAxis& axis : AxesOf(op, op.sizes(kOutputTensor))) {
    axes.push_back({axis, axis.Outputs(), 1, 1});
  }
  for (size_t d = axes.size(); d-- > 1;) {
    axes[d - 1].tap_step = axes[d].tap_step * axes[d].window;
    axes[d - 1].block_step = axes[d].block_step * axes[d].blocks;
  }
  return axes;
}

int64_t WindowSize(const OperatorDesc& op) {
  const std::vector<uint32_t>& sizes = op[kWindowSizes];
  return Product(Dims(sizes.begin(), sizes.end()));
}

// The single tap of batches and channels.
class OneTap : public TapAxis {
 public:
  explicit OneTap(int64_t step) : step_(step) {}

  int64_t Count(int64_t) const override { return 1; }
  bool AddTaps(int64_t index, Range some, ShortTaps& taps) const override {
    if (some.count() > 0) taps.Add(index * step_, 1);
    taps.End(1);
    return true;
  }

 private:
  int64_t step_;
};

// The taps that cover a position are every `period`-th one of a range of the window.
class FoldTaps : public TapAxis {
 public:
  FoldTaps(const FoldAxis& axis, int64_t row, int64_t column)
      : axis_(axis),
        row_(row * axis.tap_step),
        column_(column * axis.block_step),
        period_(axis.stride / std::gcd(axis.stride, axis.dilation)) {}

  int64_t Count(int64_t index) const override {
    const Range taps = WindowTaps(index);
    return (taps.count() + period_ - 1) / period_;
  }

  bool AddTaps(int64_t index, Range some, ShortTaps& taps) const override {
    const Range all = WindowTaps(index);
    for (int64_t i = some.begin; i < some.end; ++i) {
      const int64_t tap = all.begin + i * period_;
      const int64_t block = (index + axis_.start - tap * axis_.dilation) / axis_.stride;
      taps.Add(tap * row_ + block * column_, 1);
    }
    taps.End(1);
    return true;
  }

 private:
  // Returns the taps from the first that lies at the position in some block to the last.
  Range WindowTaps(int64_t index) const {
    const int64_t place = index + axis_.start;
    const int64_t last_begin = (axis_.blocks - 1) * axis_.stride;
    Range taps = {std::max<int64_t>(0, CeilDiv(place - last_begin, axis_.dilation)),
                  std::min(axis_.window - 1, FloorDiv(place, axis_.dilation)) + 1};
    for (int64_t i = 0; i < period_ && taps.count() > 0; ++i, ++taps.begin) {
      if ((place - taps.begin * axis_.dilation) % axis_.stride == 0) return taps;
    }
    return {0, 0};
  }

  FoldAxis axis_;
  int64_t row_, column_;  // offsets in the source from one tap, and one block, to the next
  int64_t period_;
};

WeightedSource Source(const OperatorDesc& op, const ConstTensorView& input) {
  const Dims& strides = input.layout.strides;
  const size_t n = strides.size() - 3;  // after leading 1s
  WeightedSource source{input, {}, WeightedSource::kRound};
  if (!IsFloat(input.type)) source.rule = WeightedSource::kWrap;
  source.axes = {std::make_shared<OneTap>(strides[n]),
                 std::make_shared<OneTap>(WindowSize(op) * strides[n + 1])};
  for (const FoldAxis& axis : FoldAxesOf(op)) {
    source.axes.push_back(std::make_shared<FoldTaps>(axis, strides[n + 1], strides[n + 2]));
  }
  return source;
}

// Returns the part of the input that one tap contributes to a part of the output.
std::optional<Region> RegionOf(const std::vector<FoldAxis>& axes, const Dims& taps,
                               int64_t window_size, size_t input_rank, const Region& output) {
  int64_t row = 0;
  int64_t first = 0;
  int64_t last = 0;
  for (size_t d = 0; d < axes.size(); ++d) {
    const FoldAxis& axis = axes[d];
    const int64_t begin = output.begin[d + 2];
    const Range blocks =
        axis.OutputsUnder(taps[d], {begin, begin + output.sizes[d + 2]}, axis.blocks);
    if (blocks.count() == 0) return std::nullopt;
    row += taps[d] * axis.tap_step;
    first += blocks.begin * axis.block_step;
    last += (blocks.end - 1) * axis.block_step;
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

// There is one map for each tap, so there may be very many.
std::vector<SourceMap> Sources(const OperatorDesc& op) {
  const auto axes = std::make_shared<const std::vector<FoldAxis>>(FoldAxesOf(op));
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
    OperatorRow("FOLD", {kFields, "MOV-1", Infer},
                Computed{.run = Run, .sources = Sources, .weights = Source}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::fold
