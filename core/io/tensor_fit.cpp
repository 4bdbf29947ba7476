// SPDX-License-Identifier: Apache-2.0
// Determines whether arrays fit the logical tensor of a desc, and where it puts their elements.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/base/progress.h"
#include "core/io/output_file.h"
#include "core/io/tensor_file.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Returns the shape of an array, preceded by 1 for each leading dimension that it lacks and that
// the desc only repeats, as NumPy broadcasts.
Dims BehindRepeated(const Dims& shape, const Layout& expected) {
  const size_t missing = expected.rank() - std::min(expected.rank(), shape.size());
  for (size_t d = 0; d < missing; ++d) {
    if (expected.strides[d] != 0) return shape;
  }
  Dims all = Dims::Filled(missing, 1);
  for (const int64_t size : shape) all.push_back(size);
  return all;
}

bool FitsShape(const Dims& sizes, const Layout& expected) {
  bool fits = sizes.size() == expected.rank();
  for (size_t d = 0; fits && d < sizes.size(); ++d) {
    if (sizes[d] == expected.sizes[d]) continue;
    fits = sizes[d] == 1 && expected.strides[d] == 0;
  }
  return fits;
}

// Returns the shapes in which an array of other sizes has as many elements as the tensor: the whole
// one, and the one in which repeated dimensions have size 1.
std::array<Dims, 2> ShapesOf(const Layout& expected) {
  Dims once = expected.sizes;
  for (size_t d = 0; d < once.size(); ++d) {
    if (expected.strides[d] == 0) once[d] = 1;
  }
  return {expected.sizes, once};
}

// Fails if the desc gives two elements one position and the tensor gives them different bits.
// Positions are checked in windows, which bounds the memory.
void CheckSharedPlaces(const ConstTensorView& tensor, const Dims& desc_strides,
                       const std::string& name) {
  constexpr int64_t kWindow = 1 << 18;
  constexpr int64_t kNone = -1;
  const size_t width = ByteWidth(tensor.type);
  const OffsetWindow<2> places(
      Merged(LoopNest<2>{tensor.layout.sizes, {desc_strides, tensor.layout.strides}}));
  std::vector<int64_t> firsts;  // offset of the first element at each position
  for (int64_t begin = 0; begin < places.extent(); begin += kWindow) {
    const int64_t end = std::min(begin + kWindow, places.extent());
    firsts.assign(static_cast<size_t>(end - begin), kNone);
    int64_t clash = end;  // lowest position
    places.Visit(begin, end, [&](const auto& offsets) {
      const auto [place, offset] = offsets;
      int64_t& first = firsts[static_cast<size_t>(place - begin)];
      if (first == kNone) first = offset;
      const auto data_at = [&](int64_t at) {
        return tensor.data + at * static_cast<int64_t>(width);
      };
      if (std::memcmp(data_at(first), data_at(offset), width) != 0) clash = std::min(clash, place);
      return false;
    });
    if (clash == end) continue;
    FailTensorFile(name,
                   "by the Strides of the tensor, some of its elements share place {} of the "
                   "buffer, but the file has different values for them",
                   clash);
  }
}

// Fails if a byte of an array, which has no gaps, is outside of the range of 4 bits.
void RequireNibbles(const ConstTensorView& tensor, DataType type, const std::string& name) {
  VisitDataType(Integers8(), tensor.type, [&]<typename T>() {
    const auto range = RangeOf<T>(type);
    const auto fits = [&](T value) { return range.least <= value && value <= range.most; };
    const Layout& layout = tensor.layout;
    const T* const elements = tensor.elements<T>();
    if (std::count_if(elements, elements + layout.element_count(), fits) ==
        layout.element_count()) {
      return;
    }
    const LoopNest<1> nest{layout.sizes, {layout.strides}};
    Walk<1> walk(nest, 0);
    int64_t place = 0;
    for (; fits(elements[walk.offset(0)]); ++place) walk.Next();
    FailTensorFile(name, "has the value {} at [{}]; those of {} are in [{}, {}]",
                   elements[walk.offset(0)], fmt::join(IndexOf(layout.sizes, place), ", "),
                   Name(type), range.least, range.most);
  });
}

// Copies the elements in row-major order, without gaps.
std::shared_ptr<Spool> PackedCopy(const ConstTensorView& tensor, const std::string& name) {
  const size_t size = static_cast<size_t>(tensor.element_bytes());
  const size_t width = ByteWidth(tensor.type);
  auto copy = std::make_shared<Spool>(size);
  const Work work("reading " + name, tensor.element_bytes());
  const LoopNest<1> nest{tensor.layout.sizes, {tensor.layout.strides}};
  Walk<1> walk(nest, 0);
  std::vector<std::byte> part;
  ForEachStep(size, [&](size_t, size_t step) {
    part.resize(step);
    for (size_t at = 0; at < step; at += width, walk.Next()) {
      const std::byte* element = tensor.data + walk.offset(0) * static_cast<int64_t>(width);
      std::copy_n(element, width, part.begin() + static_cast<ptrdiff_t>(at));
    }
    copy->Append(part);
  });
  return copy;
}

// Returns the same elements in another shape, in row-major order.
LoadedTensor Reshaped(LoadedTensor tensor, const Dims& sizes, const std::string& name) {
  if (!IsPacked(tensor.view.layout)) {
    const auto copy = PackedCopy(tensor.view, name);
    tensor.view.data = copy->bytes().data();
    tensor.storage = copy;
  }
  tensor.view.layout = PackedLayout(sizes);
  return tensor;
}

}  // namespace

Dims RequireFit(const StoredArray& array, const TensorDesc& desc, FileShapes shapes,
                const std::string& name) {
  const auto& [type, is_bool, shape] = array;
  const DataType expected_type = *desc.data_type;
  if (type != expected_type && type != StoredAs(expected_type)) {
    const std::string stored =
        HasNibbles(expected_type) ? fmt::format(", whose values are {}", Name(expected_type)) : "";
    FailTensorFile(name, "has the data type {}{}; expected {}{}",
                   is_bool ? "bool, which is taken for " : "", Name(type),
                   Name(StoredAs(expected_type)), stored);
  }
  const Layout expected = LayoutOf(desc);
  const Dims sizes = BehindRepeated(shape.empty() ? Dims{1} : shape, expected);
  if (FitsShape(sizes, expected)) return sizes;
  for (const Dims& other : ShapesOf(expected)) {
    if (Product(other) != Product(sizes)) continue;
    if (shapes == FileShapes::kByCount) return other;
    FailTensorFile(
        name, "has the shape {}; expected {}, of as many elements, which --reshape takes it for",
        ToString(shape), ToString(other));
  }
  FailTensorFile(name, "has the shape {}; expected {}{}", ToString(shape), ToString(expected.sizes),
                 RepetitionHint(shape, desc));
}

LoadedTensor ByCount(LoadedTensor tensor, const Dims& sizes, const std::string& name,
                     FileShapes shapes) {
  const Dims& own = tensor.view.layout.sizes;
  const bool fits =
      shapes == FileShapes::kByCount && own != sizes && Product(own) == Product(sizes);
  return fits ? Reshaped(std::move(tensor), sizes, name) : tensor;
}

LoadedTensor FitToDesc(const LoadedTensor& tensor, const TensorDesc& desc, const std::string& name,
                       FileShapes shapes) {
  const Dims sizes =
      RequireFit({tensor.view.type, tensor.is_bool, tensor.view.layout.sizes}, desc, shapes, name);
  if (tensor.view.type != *desc.data_type) RequireNibbles(tensor.view, *desc.data_type, name);
  LoadedTensor fitted = sizes == tensor.view.layout.sizes ? tensor : Reshaped(tensor, sizes, name);
  fitted.view.type = *desc.data_type;
  Layout& layout = fitted.view.layout;
  const Layout expected = LayoutOf(desc);
  // Checks the positions at which the desc puts the file's elements.
  const Dims& strides = expected.strides;
  if (HasOverlap({layout.sizes, strides})) CheckSharedPlaces(fitted.view, strides, name);
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] != expected.sizes[d]) layout.strides[d] = 0;
  }
  layout.sizes = expected.sizes;
  return fitted;
}

}  // namespace dmlop
