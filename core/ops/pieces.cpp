// SPDX-License-Identifier: Apache-2.0
#include "core/ops/pieces.h"

#include <algorithm>

#include "core/base/integers.h"
#include "core/tensor/nibbles.h"

namespace dmlop {

Pieces::Pieces(const OperatorDesc& op, InputViews inputs, int64_t max_bytes)
    : op_(op), inputs_(inputs) {
  int64_t before = 0;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    const DataType type = *slot.desc->data_type;
    const int64_t width = static_cast<int64_t>(ByteWidth(type));
    const Dims sizes(slot.desc->sizes->begin(), slot.desc->sizes->end());
    const PartGrid grid(sizes, max_bytes / width);
    outputs_.push_back({type, PackedStrides(sizes), grid, before});
    before += grid.count();
    buffer_size_ = std::max(buffer_size_, static_cast<size_t>(grid.elements() * width));
  }
}

Pieces::Part Pieces::Run(int64_t number, std::span<std::byte> buffer) const {
  const auto next =
      std::upper_bound(outputs_.begin(), outputs_.end(), number,
                       [](int64_t piece, const Output& output) { return piece < output.before; });
  const Output& output = *(next - 1);
  Region part = output.grid.PartAt(number - output.before);
  part.tensor = static_cast<size_t>(next - 1 - outputs_.begin());
  RunPart(op_, inputs_, part, {buffer.data(), output.type, PackedLayout(part.sizes)});
  const int64_t width = static_cast<int64_t>(ByteWidth(output.type));
  return {part.tensor, OffsetOf({part.sizes, output.strides}, part.begin) * width,
          buffer.first(static_cast<size_t>(part.count() * width))};
}

PartGrid::PartGrid(const Dims& sizes, int64_t max_elements)
    : sizes_(sizes), dim_(sizes.size() - 1) {
  int64_t inner = 1;  // elements per index of the dimension
  while (dim_ > 0 && inner * sizes[dim_] <= max_elements) inner *= sizes[dim_--];
  const int64_t longest = std::max<int64_t>(1, max_elements / inner);
  range_ = CeilDiv(sizes[dim_], CeilDiv(sizes[dim_], longest));
  grid_ = Dims(sizes.begin(), sizes.begin() + dim_);
  grid_.push_back(CeilDiv(sizes[dim_], range_));
}

Region PartGrid::PartAt(int64_t number) const {
  const Dims place = IndexOf(grid_, number);
  Region part{0, Dims::Filled(sizes_.size(), 0), sizes_};
  for (size_t d = 0; d < dim_; ++d) {
    part.begin[d] = place[d];
    part.sizes[d] = 1;
  }
  part.begin[dim_] = place[dim_] * range_;
  part.sizes[dim_] = std::min(range_, sizes_[dim_] - part.begin[dim_]);
  return part;
}

// --- packed buffers ------------------------------------------------------------------------------

void RunOnBuffers(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  std::vector<ConstTensorView> from(inputs.begin(), inputs.end());
  std::vector<TensorView> to(outputs.begin(), outputs.end());
  std::vector<UnpackedNibbles> unpacked;
  unpacked.reserve(from.size() + to.size());
  for (ConstTensorView& input : from) {
    if (HasNibbles(input.type)) input = AsConst(unpacked.emplace_back(input).view());
  }
  const size_t first_output = unpacked.size();
  for (TensorView& output : to) {
    if (HasNibbles(output.type)) output = unpacked.emplace_back(AsConst(output)).view();
  }
  Run(op, from, to);
  size_t next = first_output;
  for (const TensorView& output : outputs) {
    if (HasNibbles(output.type)) unpacked[next++].PackInto(output.data);
  }
}

// --- traffic -------------------------------------------------------------------------------------

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
