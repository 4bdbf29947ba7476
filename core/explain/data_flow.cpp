#include "core/explain/data_flow.h"

#include <algorithm>
#include <cassert>

namespace dmlop {
namespace {

// --- one tensor cut along an axis ----------------------------------------------------------------

// The part that has `place` along the axis, and the place within that part.
Element ElementOfPart(const std::vector<TensorDesc>& parts, size_t axis, Dims index) {
  size_t part = 0;
  while (index[axis] >= int64_t{(*parts[part].sizes)[axis]}) {
    index[axis] -= (*parts[part].sizes)[axis];
    ++part;
  }
  return {part, index};
}

Element ElementOfWhole(const std::vector<TensorDesc>& parts, size_t axis, Element element) {
  for (size_t i = 0; i < element.tensor; ++i) element.index[axis] += (*parts[i].sizes)[axis];
  return {0, element.index};
}

// --- UNFOLD --------------------------------------------------------------------------------------

std::vector<UnfoldDim> UnfoldDimsOf(const UnfoldDesc& desc) {
  return UnfoldDims(desc, {nullptr, *desc.input_tensor.data_type, LayoutOf(desc.input_tensor)});
}

WindowPlace PlaceOf(const UnfoldDesc& desc, const Dims& output_index) {
  const std::vector<UnfoldDim> dims = UnfoldDimsOf(desc);
  Dims windows;
  Dims blocks;
  for (const UnfoldDim& dim : dims) {
    windows.push_back(dim.window);
    blocks.push_back(dim.blocks);
  }
  const size_t rank = output_index.size();
  const int64_t row = output_index[rank - 2];
  WindowPlace place;
  place.channel = row / Product(windows);
  place.tap = IndexOf(windows, row % Product(windows));
  place.block = IndexOf(blocks, output_index[rank - 1]);
  place.in_padding = false;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t position =
        place.block[d] * dims[d].stride - dims[d].padding + place.tap[d] * dims[d].dilation;
    place.position.push_back(position);
    place.in_padding |= position < 0 || position >= dims[d].size;
  }
  return place;
}

// --- sources of an output element ----------------------------------------------------------------

ElementBox BoxOf(const Element& element) {
  return {element.tensor, element.index, Dims::Filled(element.index.size(), 1)};
}

ElementBox Sources(const IdentityDesc&, const Element& output) {
  return BoxOf(output);
}

ElementBox Sources(const JoinDesc& desc, const Element& output) {
  return BoxOf(ElementOfPart(*desc.input_tensors, *desc.axis, output.index));
}

ElementBox Sources(const SplitDesc& desc, const Element& output) {
  return BoxOf(ElementOfWhole(*desc.output_tensors, *desc.axis, output));
}

ElementBox Sources(const ReduceDesc& desc, const Element& output) {
  ElementBox group = BoxOf(output);
  for (const uint32_t axis : *desc.axes) group.sizes[axis] = (*desc.input_tensor.sizes)[axis];
  return group;
}

ElementBox Sources(const UnfoldDesc& desc, const Element& output) {
  const WindowPlace place = PlaceOf(desc, output.index);
  Dims index{output.index[output.index.size() - 3], place.channel};
  for (const int64_t position : place.position) index.push_back(position);
  ElementBox box = BoxOf({0, index});
  if (place.in_padding) box.sizes = Dims::Filled(index.size(), 0);
  return box;
}

// --- the target of an input element, where there is one ------------------------------------------

Element Target(const IdentityDesc&, const Element& input) {
  return input;
}

Element Target(const JoinDesc& desc, const Element& input) {
  return ElementOfWhole(*desc.input_tensors, *desc.axis, input);
}

Element Target(const SplitDesc& desc, const Element& input) {
  return ElementOfPart(*desc.output_tensors, *desc.axis, input.index);
}

Element Target(const ReduceDesc& desc, Element input) {
  for (const uint32_t axis : *desc.axes) input.index[axis] = 0;
  return input;
}

// The place of the first tap of the first window; the others are found from there.
Element Target(const UnfoldDesc& desc, const Element& input) {
  Dims index = Dims::Filled(desc.output_tensor.rank(), 0);
  index[index.size() - 3] = input.index[0];
  index[index.size() - 2] = input.index[1];
  for (const uint32_t taps : *desc.window_sizes) index[index.size() - 2] *= taps;
  return {0, index};
}

}  // namespace

Dims ElementBox::IndexAt(int64_t k) const {
  Dims index = IndexOf(sizes, k);
  for (size_t d = 0; d < index.size(); ++d) index[d] += begin[d];
  return index;
}

std::optional<WindowPlace> PlaceInWindow(const OperatorDesc& desc, const Dims& output_index) {
  const auto* unfold = std::get_if<UnfoldDesc>(&desc);
  if (unfold == nullptr) return std::nullopt;
  return PlaceOf(*unfold, output_index);
}

ElementBox SourcesOf(const OperatorDesc& desc, const Element& output) {
  return std::visit([&](const auto& d) { return Sources(d, output); }, desc);
}

Targets::Targets(const OperatorDesc& desc, const Element& input)
    : first_(std::visit([&](const auto& d) { return Target(d, input); }, desc)) {
  if (const auto* unfold = std::get_if<UnfoldDesc>(&desc)) FindWindows(*unfold, input.index);
}

void Targets::FindWindows(const UnfoldDesc& desc, const Dims& index) {
  const std::vector<UnfoldDim> dims = UnfoldDimsOf(desc);
  for (size_t d = 0; d < dims.size(); ++d) {
    const UnfoldDim& dim = dims[d];
    const int64_t position = index[d + 2] + dim.padding;  // = block * stride + tap * dilation
    Window window{{}, dim.window, dim.blocks};
    // A tap leaves one block and a block one tap, so whichever there are fewer of is tried.
    if (dim.window <= dim.blocks) {
      for (int64_t tap = 0; tap < dim.window; ++tap) {
        const int64_t rest = position - tap * dim.dilation;
        if (rest < 0) break;
        if (rest % dim.stride != 0 || rest / dim.stride >= dim.blocks) continue;
        window.places.push_back({tap, rest / dim.stride});
      }
    } else {
      for (int64_t block = dim.blocks; block-- > 0;) {
        const int64_t rest = position - block * dim.stride;
        if (rest < 0 || rest % dim.dilation != 0 || rest / dim.dilation >= dim.window) continue;
        window.places.push_back({rest / dim.dilation, block});
      }
    }
    count_ *= static_cast<int64_t>(window.places.size());
    windows_.push_back(std::move(window));
  }
}

Element Targets::At(int64_t k) const {
  assert(k < count_);
  Dims counts;
  for (const Window& window : windows_) {
    counts.push_back(static_cast<int64_t>(window.places.size()));
  }
  const Dims which = IndexOf(counts, k);
  int64_t row = 0;
  int64_t column = 0;
  for (size_t d = 0; d < windows_.size(); ++d) {
    const Place& place = windows_[d].places[static_cast<size_t>(which[d])];
    row = row * windows_[d].taps + place.tap;
    column = column * windows_[d].blocks + place.block;
  }
  Element target = first_;
  if (windows_.empty()) return target;
  target.index[target.index.size() - 2] += row;
  target.index[target.index.size() - 1] += column;
  return target;
}

}  // namespace dmlop
