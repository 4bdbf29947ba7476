#include "core/ops/traffic.h"

#include <algorithm>
#include <vector>

namespace dmlop {
namespace {

// Exact where dimensions of other strides than 0 do not overlap, or leave no gaps.
int64_t DistinctElements(const Layout& layout) {
  int64_t count = 1;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.strides[d] != 0) count *= layout.sizes[d];
  }
  return count == 0 ? 0 : std::min(count, Extent(layout));
}

// Input positions along one dimension that at least one window reaches.
int64_t ReachedPositions(const UnfoldDim& dim) {
  std::vector<bool> reached(static_cast<size_t>(dim.size));
  for (int64_t block = 0; block < dim.blocks; ++block) {
    for (int64_t tap = 0; tap < dim.window; ++tap) {
      const int64_t position = block * dim.stride - dim.padding + tap * dim.dilation;
      if (position >= 0 && position < dim.size) reached[static_cast<size_t>(position)] = true;
    }
  }
  return std::count(reached.begin(), reached.end(), true);
}

// The part of the input that any window reaches.
Layout ReachedInput(const UnfoldDesc& desc, const ConstTensorView& input) {
  Layout layout = input.layout;
  const std::vector<UnfoldDim> dims = UnfoldDims(desc, input);
  for (size_t d = 0; d < dims.size(); ++d) layout.sizes[d + 2] = ReachedPositions(dims[d]);
  return layout;
}

}  // namespace

Traffic TrafficOf(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                  std::span<const TensorView> outputs) {
  const auto* unfold = std::get_if<UnfoldDesc>(&desc);
  Traffic traffic;
  for (const ConstTensorView& input : inputs) {
    const Layout& layout = unfold != nullptr ? ReachedInput(*unfold, input) : input.layout;
    traffic.read_bytes += DistinctElements(layout) * static_cast<int64_t>(ByteWidth(input.type));
  }
  for (const TensorView& output : outputs) {
    traffic.written_bytes += output.element_bytes();
  }
  return traffic;
}

int64_t WorkBytes(const OperatorDesc& desc) {
  const bool is_reduce = std::holds_alternative<ReduceDesc>(desc);
  int64_t bytes = 0;
  for (const TensorSlot& slot : TensorSlots(desc)) {
    if ((slot.role == TensorRole::kInput) != is_reduce) continue;
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
