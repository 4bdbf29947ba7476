// SPDX-License-Identifier: Apache-2.0
// DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC: each window of AVERAGE_POOLING distributes its gradient
// to its present taps, in shares of 1 / count.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/weighted/weighted_sum.h"
#include "core/engine/window/pool_sum.h"
#include "core/engine/window/sliding_windows.h"
#include "core/ops/window/pooled_windows.h"

namespace dmlop::pool_average_grad {
namespace {

using namespace pooling;

constexpr auto kFields =
    Fields(kInputGradient, kOutputGradient, kDimensionCount, kWindows.strides, kWindowSize,
           kWindows.start_padding, kWindows.end_padding, kIncludePadding);

constexpr TensorShape kTensors[] = {{&kOutputGradient, "{N, C, P@K..}"},
                                    {&kInputGradient, "{N, C, P..}"}};
constexpr Signature kShapes = {"POOL-1", "POOL-1", kTensors, "", nullptr, {}, WindowsWith("APG-1")};

// A window distributes shares of 1 / count. Shares are integer parts of a common multiple of the
// counts of all windows at a position. If that is too large, they are parts of 2^160 instead, with
// a relative error below 2^-127.
class ShareTaps : public TapAxis {
 public:
  ShareTaps(const WindowAxis& dim, bool counts_padding, int64_t windows, int64_t stride)
      : dim_(dim), counts_padding_(counts_padding), windows_(windows), stride_(stride) {}

  int64_t Count(int64_t index) const override { return WindowsAt(index).count(); }

  bool AddTaps(int64_t index, Range some, ShortTaps& taps) const override {
    const CheckedU64 common = CommonMultiple(index);
    if (!common) return false;
    ForEachCount(index, some, [&](int64_t offset, int64_t count) {
      taps.Add(offset, static_cast<Int128>(*common / static_cast<uint64_t>(count)));
    });
    taps.End(static_cast<Int128>(*common));
    return true;
  }

  AxisTaps Taps(int64_t index, Range some) const override {
    if (CommonMultiple(index)) return TapAxis::Taps(index, some);
    const Dyadic whole = Dyadic(1).TimesPowerOfTwo(160);
    AxisTaps taps{{}, {}, whole, false};
    ForEachCount(index, some, [&](int64_t offset, int64_t count) {
      taps.Add(offset, FloorQuotient(whole, Dyadic(count)));
    });
    return taps;
  }

 private:
  Range WindowsAt(int64_t index) const {
    return dim_.OutputsReaching({index, index + 1}, windows_);
  }

  CheckedU64 CommonMultiple(int64_t index) const {
    CheckedU64 common = 1;
    int64_t last = 0;
    const Range windows = WindowsAt(index);
    for (int64_t window = windows.begin; window < windows.end && common; ++window) {
      const int64_t count = dim_.TapCount(window, counts_padding_);
      if (count == std::exchange(last, count)) continue;
      const uint64_t factor = static_cast<uint64_t>(count);
      common = CheckedMul(*common, factor / std::gcd(*common, factor));
    }
    return common;
  }

  template <typename Visit>
  void ForEachCount(int64_t index, Range some, Visit&& visit) const {
    const int64_t first = WindowsAt(index).begin;
    for (int64_t window = first + some.begin; window < first + some.end; ++window) {
      visit(window * stride_, dim_.TapCount(window, counts_padding_));
    }
  }

  WindowAxis dim_;
  bool counts_padding_;
  int64_t windows_, stride_;
};

WeightedSource Weights(const OperatorDesc& op, const ConstTensorView& input) {
  const PoolDims dims = DimsOf(op, kOutputGradient);
  const Layout& gradient = input.layout;
  WeightedSource source{input, {}, WeightedSource::kRound};
  for (size_t d = 0; d < dims.size(); ++d) {
    source.axes.push_back(std::make_shared<ShareTaps>(dims[d], op[kIncludePadding],
                                                      gradient.sizes[d], gradient.strides[d]));
  }
  return source;
}

// If all windows have the same count, an element is a sum divided by that, otherwise a sum of
// parts. Sums of parts are faster if rows fill vectors, if windows are large, or if strides leave
// few neighbours.
constexpr int64_t kLongRow = 32;
constexpr int64_t kMostTaps = 1024;
constexpr int64_t kMostResidues = 64;
constexpr int64_t kMostShares = int64_t{1} << 20;  // the greatest divisor of such a sum

class Shares {
 public:
  Shares(const OperatorDesc& op, const ConstTensorView& gradient)
      : dims_(DimsOf(op, kOutputGradient)),
        counts_padding_(op[kIncludePadding]),
        gradient_(gradient),
        source_(Weights(op, gradient)) {}

  // Computes the part that begins at `begin`.
  void Run(const Dims& begin, const TensorView& part) const {
    const bool has_long_rows = part.type == DataType::kFloat32 &&
                               part.layout.sizes.back() >= kLongRow &&
                               gradient_.layout.sizes.back() > 1;
    const auto divisor = has_long_rows || !AreSmall() || AreLarge(begin, part)
                             ? std::nullopt
                             : DivisorOf(begin, part.layout.sizes);
    if (!divisor) return SumShares(begin, part);
    ForEachResidue(part, [&](const Dims& residue) { SumEven(begin, residue, *divisor, part); });
  }

 private:
  bool AreSmall() const {
    int64_t taps = 1;
    int64_t residues = 1;
    for (const WindowAxis& dim : dims_) {
      const int64_t overlap = CeilDiv(dim.window, dim.stride);
      if (overlap > kMostTaps / taps || dim.stride > kMostResidues / residues) return false;
      taps *= overlap;
      residues *= dim.stride;
    }
    return true;
  }

  // Returns the count of all windows that reach a part; none if there are several.
  std::optional<int64_t> DivisorOf(const Dims& begin, const Dims& sizes) const {
    int64_t divisor = 1;
    for (size_t d = kFirstSpatial; d < dims_.size(); ++d) {
      const Range windows =
          dims_[d].OutputsReaching({begin[d], begin[d] + sizes[d]}, gradient_.layout.sizes[d]);
      const auto count = [&](int64_t window) { return dims_[d].TapCount(window, counts_padding_); };
      const int64_t first = windows.count() > 0 ? count(windows.begin) : 1;
      for (int64_t window = windows.begin; window < windows.end; ++window) {
        if (count(window) != first) return std::nullopt;
      }
      if (first > kMostShares / divisor) return std::nullopt;
      divisor *= first;
    }
    return divisor;
  }

  bool AreLarge(const Dims& begin, const TensorView& part) const {
    return WindowAxes(dims_, gradient_.layout.sizes, begin, part.layout.sizes).AreLarge();
  }

  // Returns whether the tables of taps, one for each index of each dimension, take longer to make
  // than sliding over the part, as those of a single long dimension do.
  bool HasLongTables(const Dims& begin, const TensorView& part) const {
    constexpr double kTapsInTheTimeOfOne = 4;
    const SlideAxes axes = WindowAxes(dims_, gradient_.layout.sizes, begin, part.layout.sizes);
    double elements = 1;
    double outputs = 1;
    double taps = 0;
    for (const SlideAxis& axis : axes.axes) {
      const int64_t overlap = std::min(CeilDiv(axis.dim.window, axis.dim.stride), axis.size);
      taps += static_cast<double>(overlap) * static_cast<double>(axis.outputs);
      elements *= static_cast<double>(axis.size);
      outputs *= static_cast<double>(axis.outputs);
    }
    return taps > kTapsInTheTimeOfOne * (elements + outputs);
  }

  // Returns whether some counts have no common multiple that is short enough.
  bool HasLongMultiples(const Dims& begin, const TensorView& part) const {
    for (size_t d = 0; d < begin.size(); ++d) {
      for (int64_t i = begin[d]; i < begin[d] + part.layout.sizes[d]; ++i) {
        ShortTaps none;
        if (!source_.axes[d]->AddTaps(i, {0, 0}, none)) return true;
      }
    }
    return false;
  }

  void SumShares(const Dims& begin, const TensorView& part) const {
    const bool are_exact =
        HasExactShares(dims_, counts_padding_, gradient_.layout.sizes, begin, part.layout.sizes);
    if (AreLarge(begin, part) ||
        (are_exact ? HasLongTables(begin, part) : HasLongMultiples(begin, part))) {
      SlideShares(dims_, counts_padding_, gradient_, begin, part);
    } else {
      SumTaps(source_, begin, part);
    }
  }

  // Elements that are a stride apart belong to adjacent windows.
  template <typename Visit>
  void ForEachResidue(const TensorView& part, Visit&& visit) const {
    Dims residues;
    for (size_t d = 0; d < dims_.size(); ++d) {
      residues.push_back(std::min(dims_[d].stride, part.layout.sizes[d]));
    }
    for (int64_t i = 0; i < Product(residues); ++i) visit(IndexOf(residues, i));
  }

  // Elements with even shares are sums over windows of the gradient.
  void SumEven(const Dims& begin, const Dims& residue, int64_t divisor,
               const TensorView& part) const {
    PoolDims dims;
    TensorView sums = part;
    for (size_t d = 0; d < dims_.size(); ++d) {
      const WindowAxis& dim = dims_[d];
      const int64_t size = part.layout.sizes[d];
      const int64_t count = (size - residue[d] - 1) / dim.stride + 1;
      sums = sums.Stepped(d, residue[d], count, dim.stride);
      const int64_t position = begin[d] + residue[d] + dim.start;
      WindowAxis own;
      own.size = gradient_.layout.sizes[d];
      own.start = -CeilDiv(position - dim.window + 1, dim.stride);
      own.window = FloorDiv(position, dim.stride) + own.start + 1;
      own.end = own.window;
      if (own.window <= 0) return FillView(ElementBytes{}, sums);
      dims.push_back(own);
    }
    SumWindows({PoolSum::kShare, 0, divisor}, dims, gradient_, Dims::Filled(begin.size(), 0), sums);
  }

  PoolDims dims_;
  bool counts_padding_;
  const ConstTensorView& gradient_;
  WeightedSource source_;
};

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  Shares(op, inputs[0]).Run(begin, outputs[0]);
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return {ReachingSources(DimsOf(op, kOutputGradient), op.sizes(kInputGradient), 0)};
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const auto windows = Sources(op)[0](element);
  if (!windows) return formula.Named("sum", formula.Sum({}));
  const PoolDims dims = DimsOf(op, kOutputGradient);
  const std::vector<FormulaNode> gradients = formula.Elements(*windows);
  if (formula.is_too_long()) return 0;
  std::vector<Dyadic> counts;
  for (const FormulaNode gradient : gradients) {
    counts.push_back(TapCountAt(dims, op[kIncludePadding], formula.index(gradient)));
  }
  const bool are_equal = std::ranges::all_of(
      counts, [&](const Dyadic& count) { return (count - counts[0]).Sign() == 0; });
  if (are_equal) {
    const FormulaNode sum = formula.Named("sum", formula.Sum(gradients));
    return formula.Quotient(sum, formula.Number(counts[0]));
  }
  std::vector<FormulaNode> shares;
  for (size_t k = 0; k < gradients.size(); ++k) {
    shares.push_back(formula.Quotient(gradients[k], formula.Number(counts[k])));
  }
  return formula.Named("sum of shares", formula.Sum(shares));
}

constexpr OperatorInfo kOperators[] = {
    OperatorRow("AVERAGE_POOLING_GRAD", {kFields, "POOL-1", InferBy<kShapes>},
                Computed{.run = Run, .sources = Sources, .formula = Meaning}),
};

}  // namespace

extern const std::span<const OperatorInfo> kOperatorRows = kOperators;

}  // namespace dmlop::pool_average_grad
