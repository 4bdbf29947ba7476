// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>

#include "core/base/integers.h"
#include "core/ops/contraction/integer_convolution.h"

namespace dmlop::integer_convolution {
namespace {

// The taps of a window, and the elements under each tap for a part of the output.
class TapSources {
 public:
  explicit TapSources(const OperatorDesc& op) : axes_(AxesOf(op)) {
    const Sizes& filter = op.sizes(kFilter);
    for (const WindowAxis& axis : axes_) windows_.push_back(axis.window);
    group_rows_ = filter[0] / op[kGroupCount];
    group_channels_ = filter[1];
    filter_ = *InputNumber(op, kFilter);
  }

  int64_t count() const { return Product(windows_); }

  std::optional<Region> InputUnder(int64_t number, const Region& output) const {
    const int64_t first = output.begin[1] / group_rows_;
    const int64_t last = (output.begin[1] + output.sizes[1] - 1) / group_rows_;
    Region region{0,
                  {output.begin[0], first * group_channels_},
                  {output.sizes[0], (last - first + 1) * group_channels_}};
    const Dims tap = IndexOf(windows_, number);
    for (size_t d = 0; d < axes_.size(); ++d) {
      const int64_t begin = output.begin[d + 2];
      const Range elements = axes_[d].InputsUnder(tap[d], {begin, begin + output.sizes[d + 2]});
      if (elements.count() == 0) return std::nullopt;
      region.begin.push_back(elements.begin);
      region.sizes.push_back(elements.count());
    }
    return region;
  }

  std::optional<Region> FilterAt(int64_t number, const Region& output) const {
    if (!InputUnder(number, output)) return std::nullopt;
    Region region{filter_, {output.begin[1], 0}, {output.sizes[1], group_channels_}};
    for (const int64_t tap : IndexOf(windows_, number)) {
      region.begin.push_back(tap);
      region.sizes.push_back(1);
    }
    return region;
  }

 private:
  std::vector<WindowAxis> axes_;
  Dims windows_;
  int64_t group_rows_, group_channels_;
  size_t filter_;
};

}  // namespace

int64_t TapCount(const OperatorDesc& op) {
  return TapSources(op).count();
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  const auto taps = std::make_shared<const TapSources>(op);
  std::vector<SourceMap> maps;
  for (int64_t i = 0; i < taps->count(); ++i) {
    maps.push_back([taps, i](const Region& output) { return taps->InputUnder(i, output); });
    maps.push_back([taps, i](const Region& output) { return taps->FilterAt(i, output); });
  }
  const std::vector<SourceMap> parameters = SourcesOf(kIntegerShapes, op);
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  for (size_t i = 1; i < slots.size(); ++i) {
    if (slots[i].field != &kFilter) maps.push_back(parameters[i]);
  }
  return maps;
}

}  // namespace dmlop::integer_convolution
