// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "core/base/integers.h"
#include "core/ops/contraction/convolution_windows.h"
#include "core/ops/quantization.h"

namespace dmlop::convolution {
namespace {

// Finds the elements that contribute to a part of the output by one tap.
class TapSources {
 public:
  TapSources(const OperatorDesc& op, int64_t tap)
      : op_(op), dimensions_(DimensionsOf(op)), channels_(ChannelsOf(op)) {
    Dims kernel;
    for (const Dimension& dimension : dimensions_) kernel.push_back(dimension.kernel());
    tap_ = IndexOf(kernel, tap);
  }

  std::optional<Region> InInput(const Region& output) const {
    const IndexRange groups = GroupsOf(output);
    Region region{0,
                  {output.begin[0], groups.begin * channels_.inputs},
                  {output.sizes[0], groups.count * channels_.inputs}};
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      const int64_t begin = output.begin[d + 2];
      const Range elements =
          dimensions_[d].ElementsOf(tap_[d], {begin, begin + output.sizes[d + 2]});
      if (elements.count() == 0) return std::nullopt;
      region.begin.push_back(elements.begin);
      region.sizes.push_back(elements.count());
    }
    return region;
  }

  std::optional<Region> InFilter(const Region& output) const {
    if (!InInput(output)) return std::nullopt;
    const IndexRange groups = GroupsOf(output);
    Region region{1, {output.begin[1], 0}, {output.sizes[1], channels_.inputs}};
    if (!IsForward(op_)) {
      const bool is_one = groups.count == 1;
      region.begin = {groups.begin * channels_.inputs,
                      is_one ? output.begin[1] % channels_.outputs : 0};
      region.sizes = {groups.count * channels_.inputs,
                      is_one ? output.sizes[1] : channels_.outputs};
    }
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      region.begin.push_back(dimensions_[d].InFilter(tap_[d]));
      region.sizes.push_back(1);
    }
    return region;
  }

 private:
  IndexRange GroupsOf(const Region& output) const {
    const int64_t first = output.begin[1] / channels_.outputs;
    const int64_t last = (output.begin[1] + output.sizes[1] - 1) / channels_.outputs;
    return {first, last - first + 1};
  }

  const OperatorDesc& op_;
  std::vector<Dimension> dimensions_;
  Channels channels_;
  Dims tap_;
};

}  // namespace

int64_t TapCount(const OperatorDesc& op) {
  int64_t count = 1;
  for (size_t d = 0; d < SpatialRank(op); ++d) count *= AxisAt(op, d).window;
  return count;
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  std::vector<SourceMap> maps;
  for (int64_t tap = 0; tap < TapCount(op); ++tap) {
    const auto sources = std::make_shared<const TapSources>(op, tap);
    maps.push_back([sources](const Region& output) { return sources->InInput(output); });
    maps.push_back([sources](const Region& output) { return sources->InFilter(output); });
  }
  if (op.Has(kBiasTensor)) {
    maps.push_back([](const Region& output) {
      Region region{2, Dims::Filled(output.begin.size(), 0), Dims::Filled(output.begin.size(), 1)};
      region.begin[1] = output.begin[1];
      region.sizes[1] = output.sizes[1];
      return std::optional<Region>(region);
    });
  }
  return maps;
}

FormulaNode Meaning(const OperatorDesc& op, const Region& element, Formula& formula) {
  const std::vector<SourceMap> sources = Sources(op);
  const auto taps = std::span(sources).first(2 * static_cast<size_t>(TapCount(op)));
  const FormulaNode sum = quantization::SumOfProducts(taps, element, {}, formula);
  if (!op.Has(kBiasTensor)) return sum;
  return formula.Sum({sum, formula.Element(*sources.back()(element))});
}

int64_t Operations(const OperatorDesc& op) {
  const Channels channels = ChannelsOf(op);
  const Sizes& places = op.sizes(IsForward(op) ? kOutputTensor : kInputTensor);
  const int64_t products = IsForward(op) ? channels.inputs : channels.outputs;
  return SaturatedProduct({SaturatedProduct(places), products, TapCount(op)});
}

}  // namespace dmlop::convolution
