// SPDX-License-Identifier: Apache-2.0
// Sizes and windows of poolings.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/fuzz/named_fields.h"
#include "core/fuzz/rows.h"

namespace dmlop {
namespace window_rows {
namespace {

// Usually few taps; paddings may be longer than windows.
void DrawWindows(const DescEntropy& from, size_t count, OperatorDesc& op) {
  const bool is_wide = from.OneIn(6);
  Set(op, "WindowSize", from.Numbers(count, 1, is_wide ? 9 : 3));
  Set(op, "Strides", from.Numbers(count, 1, from.OneIn(3) ? 1 : 3));
  const uint64_t padding = from.OneIn(3) ? 0 : from.OneIn(5) ? 9 : 2;
  Set(op, "StartPadding", from.Numbers(count, 0, padding));
  Set(op, "EndPadding", from.Numbers(count, 0, padding));
  if (HasField(op, "Dilations")) Set(op, "Dilations", from.Numbers(count, 1, 3));
}

// The sizes that windows make of a tensor's sizes, perhaps one more if there is a remainder.
Sizes Pooled(const DescEntropy& from, const OperatorDesc& op, const Sizes& sizes) {
  const auto number = [&](std::string_view field, size_t d) {
    return int64_t{Get<Sizes>(op, field)[d]};
  };
  Sizes pooled = sizes;
  for (size_t d = 0; d + 2 < sizes.size(); ++d) {
    const int64_t dilation = HasField(op, "Dilations") ? number("Dilations", d) : 1;
    const int64_t steps = sizes[d + 2] + number("StartPadding", d) + number("EndPadding", d) -
                          dilation * (number("WindowSize", d) - 1) - 1;
    const int64_t stride = number("Strides", d);
    const bool has_more = steps % stride != 0 && from.OneIn(2);
    pooled[d + 2] = static_cast<uint32_t>(std::max<int64_t>(0, steps) / stride + 1);
    if (has_more) ++pooled[d + 2];
  }
  return pooled;
}

void DrawPooling(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  SetSizes(op, "InputTensor", sizes);
  if (from.OneIn(2)) SetSizes(op, "OutputTensor", Pooled(from, op, sizes));
}

void DrawNorm(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawPooling(from, sizes, op);
  Set(op, "P", from.OneIn(8) ? from.Number(1, UINT32_MAX) : from.Number(1, 5));
}

// For one operator, the output's sizes follow from its InputTensor.
void DrawGradient(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  DrawWindows(from, sizes.size() - 2, op);
  SetSizes(op, "InputGradientTensor", Pooled(from, op, sizes));
  if (HasField(op, "InputTensor")) SetSizes(op, "InputTensor", sizes);
  SetSizes(op, "OutputGradientTensor", sizes);
}

// One element, or one for each channel.
Sizes ChannelSizes(const DescEntropy& from, uint32_t channels) {
  const size_t rank = static_cast<size_t>(from.Between(1, 5));
  Sizes sizes(rank, 1);
  if (from.OneIn(2)) return sizes;
  sizes[rank < 4 && from.OneIn(2) ? 0 : rank == 1 ? 0 : 1] = channels;
  return sizes;
}

void DrawQuantized(const DescEntropy& from, const Sizes& sizes, OperatorDesc& op) {
  for (const Field* field : TensorFieldsOf(op.info())) {
    if (field->optional && from.OneIn(2)) op.AddTensor(*field);
  }
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.role() == TensorRole::kInput) slot.desc->sizes = ChannelSizes(from, sizes[1]);
  }
  DrawPooling(from, sizes, op);
}

constexpr SizesRow kRows[] = {
    {"AVERAGE_POOLING", DrawPooling},
    {"AVERAGE_POOLING1", DrawPooling},
    {"AVERAGE_POOLING_GRAD", DrawGradient},
    {"LP_POOLING", DrawNorm},
    {"LP_POOLING1", DrawNorm},
    {"MAX_POOLING", DrawPooling},
    {"MAX_POOLING1", DrawPooling},
    {"MAX_POOLING2", DrawPooling},
    {"MAX_POOLING_GRAD", DrawGradient},
    {"QUANTIZED_LINEAR_AVERAGE_POOLING", DrawQuantized},
};

}  // namespace
}  // namespace window_rows

std::span<const SizesRow> WindowSizes() {
  return window_rows::kRows;
}

}  // namespace dmlop
