// SPDX-License-Identifier: Apache-2.0
#include "core/ops/traffic.h"

#include <algorithm>
#include <vector>

namespace dmlop {
namespace {

// Exact if dimensions with strides other than 0 do not overlap, or leave no gaps.
int64_t DistinctElements(const Layout& layout) {
  int64_t count = 1;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.strides[d] != 0) count *= layout.sizes[d];
  }
  return count == 0 ? 0 : std::min(count, Extent(layout));
}

// Returns how many elements of each input the moves read, which may be fewer than it has.
std::vector<int64_t> MovedElements(const std::vector<TensorMove>& moves, size_t inputs) {
  std::vector<int64_t> counts(inputs);
  for (const TensorMove& move : moves) {
    int64_t of_move = 1;
    for (size_t d = 0; d < move.from.layout.rank(); ++d) {
      if (move.from.layout.strides[d] != 0) of_move *= move.from.layout.sizes[d];
    }
    if (move.input < inputs) counts[move.input] += of_move;
  }
  return counts;
}

}  // namespace

Traffic TrafficOf(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const auto* movement = std::get_if<Movement>(&op.info().family);
  std::vector<TensorMove> moves;
  if (movement != nullptr && movement->moves != nullptr) {
    moves = movement->moves(op, inputs, outputs);
  }
  const std::vector<int64_t> moved = MovedElements(moves, inputs.size());
  const auto* computed = std::get_if<Computed>(&op.info().family);
  // Indices select as many elements of the first input as the output has.
  const bool gathers = computed != nullptr && computed->gathers;
  Traffic traffic;
  for (size_t i = 0; i < inputs.size(); ++i) {
    int64_t elements = DistinctElements(inputs[i].layout);
    if (movement != nullptr) elements = std::min(elements, moved[i]);
    if (i == 0 && gathers) elements = std::min(elements, outputs[0].layout.element_count());
    traffic.read_bytes += elements * static_cast<int64_t>(ByteWidth(inputs[i].type));
  }
  for (const TensorView& output : outputs) traffic.written_bytes += output.element_bytes();
  return traffic;
}

int64_t WorkBytes(const OperatorDesc& op) {
  const bool is_reduction = std::holds_alternative<Reduction>(op.info().family);
  const TensorRole role = is_reduction ? TensorRole::kInput : TensorRole::kOutput;
  int64_t bytes = 0;
  for (const TensorSlot& slot : TensorSlots(op, role)) {
    bytes += ConstTensorView{nullptr, *slot.desc->data_type, LayoutOf(*slot.desc)}.element_bytes();
  }
  return bytes;
}

Limit LimitOf(const Traffic& traffic) {
  constexpr int64_t kMost = 3;
  if (traffic.read_bytes >= kMost * traffic.written_bytes) return Limit::kRead;
  if (traffic.written_bytes >= kMost * traffic.read_bytes) return Limit::kWrite;
  return Limit::kCopy;
}

}  // namespace dmlop
