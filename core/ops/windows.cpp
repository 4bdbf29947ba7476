// SPDX-License-Identifier: Apache-2.0
#include "core/ops/windows.h"

#include <algorithm>

#include "core/base/integers.h"

namespace dmlop::windows {
namespace {

int64_t PaddedSize(const OperatorDesc& op, size_t d, int64_t size) {
  return size + op[kStartPadding][d] + op[kEndPadding][d];
}

// Returns the size of a dilated window. It saturates, since the product of two 32-bit numbers may
// not fit into 64 signed bits.
int64_t WindowExtent(const OperatorDesc& op, size_t d) {
  const CheckedU64 reach = CheckedMul(op[kDilations][d], uint64_t{op[kWindowSizes][d]} - 1);
  constexpr uint64_t kFar = uint64_t{1} << 62;
  return static_cast<int64_t>(std::min(reach.value_or(kFar), kFar)) + 1;
}

}  // namespace

int64_t BlocksAlong(const OperatorDesc& op, size_t d, int64_t size) {
  return (PaddedSize(op, d, size) - WindowExtent(op, d)) / op[kStrides][d] + 1;
}

std::optional<WindowCounts> CountWindows(const OperatorDesc& op, std::span<const uint32_t> sizes,
                                         const Field& columns, Inference& infer) {
  CheckedU64 rows = sizes[1];
  CheckedU64 blocks = 1;
  bool all_fit = true;
  for (size_t d = 0; d < op[kWindowSizes].size(); ++d) {
    const int64_t padded = PaddedSize(op, d, sizes[d + 2]);
    if (!infer.Require(padded >= WindowExtent(op, d), "UNF-10", At(kWindowSizes, d),
                       "a window of {} with a dilation of {} does not fit into the padded size {}",
                       op[kWindowSizes][d], op[kDilations][d], padded)) {
      all_fit = false;
      continue;
    }
    rows = CheckedMul(rows, op[kWindowSizes][d]);
    blocks = CheckedMul(blocks, static_cast<uint64_t>(BlocksAlong(op, d, sizes[d + 2])));
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
