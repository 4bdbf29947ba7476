// SPDX-License-Identifier: Apache-2.0
#include "core/ops/windows.h"

#include <algorithm>

#include "core/base/integers.h"

namespace dmlop {

WindowAxis AxisOf(const WindowFields& fields, const OperatorDesc& op, size_t d, int64_t size,
                  int64_t taps) {
  const std::vector<uint32_t>* dilations = op.find_if_known(fields.dilations);
  return {size,
          taps,
          op[fields.strides][d],
          dilations == nullptr ? 1 : (*dilations)[d],
          op[fields.start_padding][d],
          op[fields.end_padding][d]};
}

namespace {

bool IsKnown(const WindowAxis& axis) {
  return axis.size != 0 && axis.window != 0;
}

// Requires the padded tensor to hold a window.
bool RequireFit(std::string_view code, const Place& place, const WindowAxis& axis,
                Inference& infer) {
  return infer.Require(!IsKnown(axis) || axis.Fits(), code, place,
                       "a window of {} with a dilation of {} does not fit into the padded size {}",
                       axis.window, axis.dilation, axis.PaddedSize());
}

Place PlaceOfTaps(const TapWindows& windows, size_t dimension, Inference& infer) {
  if (windows.taps != nullptr) return At(*windows.taps, dimension - kFirstSpatial);
  return SizeAt(infer.tensor(*windows.filter), dimension);
}

// Returns how much larger a size may be that has the same windows.
int64_t Leeway(const TapWindows& windows, const WindowAxis& axis, bool spans, int64_t more) {
  if (spans) return more == 0 ? std::max(axis.stride, axis.dilation) - 1 : 0;
  const bool has_rest = (axis.PaddedSize() - axis.Extent()) % axis.stride != 0;
  return windows.may_overhang && has_rest ? 1 : 0;
}

}  // namespace

uint64_t SizeOfWindows(const TapWindows& windows, const WindowAxis& axis, bool spans,
                       const OperatorDesc& op, const TensorAt& tensor, size_t dimension,
                       Inference& infer) {
  if (!spans &&
      !RequireFit(windows.fit_rule, PlaceOfTaps(windows, dimension, infer), axis, infer)) {
    return 0;
  }
  const size_t i = dimension - kFirstSpatial;
  const int64_t more = windows.more == nullptr ? 0 : op[*windows.more][i];
  const int64_t least = (spans ? axis.Spanned() : axis.Outputs()) + more;
  const bool has_size = tensor.desc.rank() == op[windows.fields->strides].size() + kFirstSpatial;
  const int64_t stated = has_size ? tensor.sizes()[dimension] : 0;
  const int64_t most = least + (stated == 0 ? 0 : Leeway(windows, axis, spans, more));
  if (!infer.Require(most > 0, windows.rule, At(windows.fields->start_padding, i),
                     "the paddings leave {} positions", most)) {
    return 0;
  }
  if (least == most) return static_cast<uint64_t>(least);
  const int64_t first = std::max<int64_t>(least, 1);
  const bool is_right =
      infer.Require(first <= stated && stated <= most, windows.rule, SizeAt(tensor, dimension),
                    "{}; expected {} to {}", stated, first, most);
  return is_right ? static_cast<uint64_t>(stated) : 0;
}

}  // namespace dmlop

namespace dmlop::windows {

std::vector<WindowAxis> AxesOf(const OperatorDesc& op, std::span<const uint32_t> sizes) {
  std::vector<WindowAxis> axes;
  for (size_t d = 0; d < op[kWindowSizes].size(); ++d) {
    axes.push_back(AxisOf(kWindows, op, d, sizes[d + 2], op[kWindowSizes][d]));
  }
  return axes;
}

std::optional<WindowCounts> CountWindows(const OperatorDesc& op, std::span<const uint32_t> sizes,
                                         const Field& columns, Inference& infer) {
  CheckedU64 rows = sizes[1];
  CheckedU64 blocks = 1;
  bool all_fit = true;
  const std::vector<WindowAxis> axes = AxesOf(op, sizes);
  for (size_t d = 0; d < axes.size(); ++d) {
    if (!RequireFit("UNF-10", At(kWindowSizes, d), axes[d], infer)) {
      all_fit = false;
      continue;
    }
    rows = CheckedMul(rows, static_cast<uint64_t>(axes[d].window));
    blocks = CheckedMul(blocks, IsKnown(axes[d]) ? static_cast<uint64_t>(axes[d].Outputs()) : 0);
  }
  if (!all_fit) return std::nullopt;
  const bool is_possible = rows && blocks && *rows <= UINT32_MAX && *blocks <= UINT32_MAX;
  if (!infer.Require(is_possible, "BUF-11", {columns.name, std::nullopt, "Sizes"},
                     "the windows have more elements than a tensor may have")) {
    return std::nullopt;
  }
  return WindowCounts{static_cast<uint32_t>(*rows), static_cast<uint32_t>(*blocks)};
}

}  // namespace dmlop::windows
