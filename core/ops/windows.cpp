// SPDX-License-Identifier: Apache-2.0
#include "core/ops/windows.h"

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

bool RequireFit(std::string_view code, const Place& place, const WindowAxis& axis,
                Inference& infer) {
  return infer.Require(!IsKnown(axis) || axis.Fits(), code, place,
                       "a window of {} with a dilation of {} does not fit into the padded size {}",
                       axis.window, axis.dilation, axis.PaddedSize());
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
    blocks = CheckedMul(blocks, CountOf(axes[d]));
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
