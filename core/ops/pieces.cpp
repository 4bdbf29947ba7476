// SPDX-License-Identifier: Apache-2.0
#include "core/ops/pieces.h"

#include <algorithm>

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

}  // namespace dmlop
