// SPDX-License-Identifier: Apache-2.0
// Computes convolutions as products of matrices: the rows are the filter's output channels, the
// columns are windows of the input, which are gathered while they are packed.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/engine/matrix/matrix_product.h"
#include "core/engine/matrix/product_grid.h"
#include "core/ops/contraction/convolution_windows.h"
#include "core/ops/quantization.h"

namespace dmlop::convolution {

namespace {

alignas(float) constexpr std::array<std::byte, sizeof(float)> kZero{};

// The part of the output that one product of matrices computes: output channels of one group, and
// one residue in each dimension.
struct ProductPart {
  IndexRange channels;  // output channels, numbered as in the operator
  std::vector<Residue> residues;
};

int64_t TapCount(const OperatorDesc& op) {
  int64_t count = 1;
  for (size_t d = 0; d < SpatialRank(op); ++d) count *= AxisAt(op, d).window;
  return count;
}

class Convolution {
 public:
  Convolution(const OperatorDesc& op, InputViews inputs, const Dims& begin,
              const TensorView& output)
      : op_(op), inputs_(inputs), begin_(begin), output_(output), channels_(ChannelsOf(op)) {}

  void Run() const {
    const std::vector<ProductPart> parts = Parts();
    const int64_t count = static_cast<int64_t>(parts.size());
    const int64_t work = output_.layout.element_count() / count * channels_.inputs * TapCount(op_);
    const int64_t grain = ProductGrid::Grain(count, work);
    ParallelFor(count, grain, output_.element_bytes(), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) Multiply(parts[static_cast<size_t>(i)]);
    });
  }

 private:
  std::vector<ProductPart> Parts() const {
    std::vector<std::vector<Residue>> residues;
    Dims counts;
    for (size_t d = 0; d < SpatialRank(op_); ++d) {
      residues.push_back(Dimension(op_, d).Residues(begin_[d + 2], output_.layout.sizes[d + 2]));
      counts.push_back(static_cast<int64_t>(residues.back().size()));
    }
    std::vector<ProductPart> parts;
    const int64_t end = begin_[1] + output_.layout.sizes[1];
    for (int64_t channel = begin_[1]; channel < end;) {
      const int64_t group_end = (channel / channels_.outputs + 1) * channels_.outputs;
      const int64_t next = std::min(end, group_end);
      for (int64_t i = 0; i < Product(counts); ++i) {
        ProductPart part{{channel, next - channel}, {}};
        const Dims number = IndexOf(counts, i);
        for (size_t d = 0; d < number.size(); ++d) {
          part.residues.push_back(residues[d][static_cast<size_t>(number[d])]);
        }
        parts.push_back(std::move(part));
      }
      channel = next;
    }
    return parts;
  }

  void Multiply(const ProductPart& part) const {
    const MatrixOutput to = OutputOf(part);
    MatrixTerms terms;
    if (inputs_.size() > 2) terms.addends.push_back({BiasOf(part, to.columns)});
    const bool has_taps = std::all_of(part.residues.begin(), part.residues.end(),
                                      [](const Residue& one) { return one.axis.taps > 0; });
    if (!has_taps) return MultiplyZeros(terms, to);
    const ViewLines rows(FilterOf(part));
    ConstTensorView input = inputs_[0];
    input = input.Slice(0, begin_[0], output_.layout.sizes[0]);
    input = input.Slice(1, part.channels.begin / channels_.outputs * channels_.inputs,
                        channels_.inputs);
    if (TakesEachElement(part)) {
      const ViewLines columns(ElementsOf(input, part));
      return MultiplyMatrices(rows, columns, terms, to);
    }
    std::vector<LineAxis> axes;
    for (const Residue& residue : part.residues) axes.push_back(residue.axis);
    const WindowLines columns(input, std::move(axes));
    MultiplyMatrices(rows, columns, terms, to);
  }

  // An empty sum of products is +0.
  void MultiplyZeros(const MatrixTerms& terms, const MatrixOutput& to) const {
    const auto zeros = [&](const Layout& lines) {
      return MatrixView{kZero.data(),
                        output_.type,
                        {lines.sizes, Dims::Filled(lines.rank(), 0)},
                        PackedLayout({1})};
    };
    const ViewLines rows(zeros(to.rows));
    const ViewLines columns(zeros(to.columns));
    MultiplyMatrices(rows, columns, terms, to);
  }

  // Returns whether every window is a single element and none of them lies in the padding.
  static bool TakesEachElement(const ProductPart& part) {
    return std::all_of(part.residues.begin(), part.residues.end(), [](const Residue& residue) {
      const LineAxis& axis = residue.axis;
      return axis.taps == 1 && axis.Has(0, 0) && axis.Has(axis.positions - 1, 0);
    });
  }

  static MatrixView ElementsOf(const ConstTensorView& input, const ProductPart& part) {
    const Layout& layout = input.layout;
    MatrixView view{input.data,
                    input.type,
                    {{layout.sizes[0]}, {layout.strides[0]}},
                    {{layout.sizes[1]}, {layout.strides[1]}}};
    int64_t offset = 0;
    for (size_t d = 0; d < part.residues.size(); ++d) {
      const LineAxis& axis = part.residues[d].axis;
      offset += axis.first * layout.strides[d + 2];
      view.lines.sizes.push_back(axis.positions);
      view.lines.strides.push_back(axis.position_step * layout.strides[d + 2]);
    }
    view.data += offset * static_cast<int64_t>(ByteWidth(input.type));
    return view;
  }

  // Returns rows for output channels; each holds the part's taps for the channels of the group.
  MatrixView FilterOf(const ProductPart& part) const {
    const ConstTensorView& filter = inputs_[1];
    const Dims& strides = filter.layout.strides;
    const int64_t group = part.channels.begin / channels_.outputs;
    const size_t output_dim = IsForward(op_) ? 0 : 1;
    const int64_t first_output =
        IsForward(op_) ? part.channels.begin : part.channels.begin % channels_.outputs;
    const int64_t first_input = IsForward(op_) ? 0 : group * channels_.inputs;
    int64_t offset = first_output * strides[output_dim] + first_input * strides[1 - output_dim];
    MatrixView view{filter.data, filter.type, {{part.channels.count}, {strides[output_dim]}}, {}};
    for (size_t d = 0; d < part.residues.size(); ++d) {
      const Residue& residue = part.residues[d];
      offset += residue.first_tap * strides[d + 2];
      view.inner.sizes.push_back(residue.axis.taps);
      view.inner.strides.push_back(residue.tap_step * strides[d + 2]);
    }
    view.inner.sizes.push_back(channels_.inputs);
    view.inner.strides.push_back(strides[1 - output_dim]);
    view.data += offset * static_cast<int64_t>(ByteWidth(filter.type));
    return view;
  }

  MatrixOutput OutputOf(const ProductPart& part) const {
    const Layout& layout = output_.layout;
    const int64_t first_channel = part.channels.begin - begin_[1];
    int64_t offset = first_channel * layout.strides[1];
    MatrixOutput to{output_.data,
                    output_.type,
                    {{part.channels.count}, {layout.strides[1]}},
                    {{layout.sizes[0]}, {layout.strides[0]}}};
    for (size_t d = 0; d < part.residues.size(); ++d) {
      const Residue& residue = part.residues[d];
      offset += residue.first * layout.strides[d + 2];
      to.columns.sizes.push_back(residue.axis.positions);
      to.columns.strides.push_back(residue.step * layout.strides[d + 2]);
    }
    to.data += offset * static_cast<int64_t>(ByteWidth(output_.type));
    return to;
  }

  BasicMatrixPlaces<const std::byte> BiasOf(const ProductPart& part, const Layout& columns) const {
    const ConstTensorView bias = inputs_[2].Slice(1, part.channels.begin, part.channels.count);
    return {bias.data,
            bias.type,
            {{part.channels.count}, {bias.layout.strides[1]}},
            {columns.sizes, Dims::Filled(columns.rank(), 0)}};
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  const Dims& begin_;
  const TensorView& output_;
  Channels channels_;
};

}  // namespace

void Run(const OperatorDesc& op, InputViews inputs, const Dims& begin, OutputViews outputs) {
  Convolution(op, inputs, begin, outputs[0]).Run();
}

// --- the formula ---------------------------------------------------------------------------------

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::vector<SourceMap> sources = SourcesOf(kShapes, op);
  const bool has_bias = op.Has(kBiasTensor);
  const auto taps = std::span(sources).first(sources.size() - (has_bias ? 1 : 0));
  const FormulaNode sum = quantization::SumOfProducts(taps, element, {}, formula);
  if (!has_bias) return sum;
  return formula.Sum({sum, formula.Element(*sources.back()(element))});
}

}  // namespace dmlop::convolution
