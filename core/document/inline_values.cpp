// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements are in the document: nested arrays of the tensor's shape or one flat
// array, or DxDispatch's initializers {"value": v} and {"valueStart": s, "valueDelta": d}, or
// seeded values.
//
// If strides give several elements one place, initializers fill the places of the buffer instead.
//
//   DOC-4   the values do not have the tensor's shape

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/document/operator_document.h"
#include "core/document/random_values.h"
#include "core/document/value_reader.h"

namespace dmlop {
namespace {

// Reads elements in order, and writes them packed unless `to` is null. A first pass only checks, so
// that nothing is allocated for values that do not exist.
class InlineReader {
 public:
  // `seed` is the default seed of random values.
  InlineReader(const TensorDesc& desc, uint64_t seed, std::byte* to, Diagnostics& diagnostics)
      : seed_(seed),
        type_(*desc.data_type),
        width_(ByteWidth(type_)),
        sizes_(desc.sizes->begin(), desc.sizes->end()),
        place_count_(PlaceCountOf(desc)),
        to_(to),
        values_(diagnostics) {}

  void Read(JsonCursor source) {
    if (!source.is_array()) return ReadInitializer(source);
    const auto first = source.first_child();
    if (first && !first->is_array()) sizes_ = {Product(sizes_)};
    ReadArray(source, 0);
  }

  // Returns the number of values that an initializer stands for.
  static int64_t PlaceCountOf(const TensorDesc& desc) {
    const Layout layout = LayoutOf(desc);
    return HasOverlap(layout) ? Extent(layout) : layout.element_count();
  }

  // Reads only the "value" of an initializer.
  void ReadConstant(JsonCursor source) { ReadElement(*source.Find("value")); }

 private:
  void ReadArray(JsonCursor source, size_t d) {
    if (!source.is_array()) {
      values_.Error(source, "DOC-4", "expected an array of {}, found {}",
                    Counted(sizes_[d], "value"), Describe(source.kind()));
      return;
    }
    const int64_t count = static_cast<int64_t>(source.child_count());
    if (count != sizes_[d]) {
      values_.Error(source, "DOC-4", "the array has {}; expected {}", Counted(count, "value"),
                    sizes_[d]);
      if (to_ != nullptr) return;
    }
    for (auto child = source.first_child(); child; child = child->next()) {
      if (d + 1 < sizes_.size()) {
        ReadArray(*child, d + 1);
      } else {
        ReadElement(*child);
      }
    }
  }

  void ReadElement(JsonCursor source) {
    ElementBytes element;
    if (!values_.Element(source, type_, element.data()) || to_ == nullptr) return;
    to_ = std::copy_n(element.data(), width_, to_);
  }

  void ReadInitializer(JsonCursor source) {
    constexpr std::array<std::string_view, 2> kConstant = {"value", "valueCount"};
    constexpr std::array<std::string_view, 3> kSequence = {"valueStart", "valueDelta",
                                                           "valueCount"};
    if (source.Find("random")) {
      if (!CheckCount(source)) return;
      const std::optional<RandomValues> random = ReadRandom(source, type_, seed_, values_);
      if (random && to_ != nullptr) FillWith(*random, type_, place_count_, to_);
      return;
    }
    const bool constant = source.Find("value").has_value();
    if (!constant && !source.Find("valueStart")) {
      values_.Error(
          source, "JSON-2",
          "expected an initializer with 'value', with 'valueStart' and 'valueDelta', or with "
          "'random'");
      return;
    }
    if (constant) {
      values_.CheckKeys(source, kConstant);
    } else {
      values_.CheckKeys(source, kSequence);
    }
    if (!CheckCount(source)) return;
    const std::optional<ValueSequence> sequence = ReadSequence(source, type_, values_);
    if (sequence && to_ != nullptr) FillWith(*sequence, type_, place_count_, to_);
  }

  bool CheckCount(JsonCursor source) {
    const auto count = source.Find("valueCount");
    if (!count) return true;
    const auto number = values_.Uint32(*count);
    if (!number) return false;
    if (*number == place_count_ || *number == Product(sizes_)) return true;
    values_.Error(*count, "DOC-4", "{}; expected {}", Counted(*number, "value"), place_count_);
    return false;
  }

  uint64_t seed_;
  DataType type_;
  size_t width_;
  Dims sizes_;
  int64_t place_count_;  // of the buffer if elements share places, otherwise of elements
  std::byte* to_;
  ValueReader values_;
};

// Returns how values in arrays are repeated to a tensor of more elements; empty for other values.
std::string RepetitionHint(JsonCursor values, const TensorDesc& desc) {
  if (!values.is_array()) return "";
  const std::vector<uint32_t> sizes = ShapeOfValues(values);
  return sizes.size() > kMaxRank ? "" : RepetitionHint(Dims(sizes.begin(), sizes.end()), desc);
}

// Returns whether an array has so many values, one after another or in nested arrays.
bool HasShape(JsonCursor values, const Dims& sizes) {
  const auto first = values.first_child();
  if (!first || !first->is_array())
    return static_cast<int64_t>(values.child_count()) == Product(sizes);
  std::optional<JsonCursor> array = values;
  for (const int64_t size : sizes) {
    if (!array || !array->is_array() || static_cast<int64_t>(array->child_count()) != size)
      return false;
    array = array->first_child();
  }
  return true;
}

// Returns the desc of the elements in an array: a dimension that repeats them may have them once,
// like that of a file.
TensorDesc DescOfValues(const TensorDesc& desc, JsonCursor values) {
  const Layout layout = LayoutOf(desc);
  TensorDesc once = desc;
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.strides[d] == 0) (*once.sizes)[d] = 1;
  }
  const bool is_once = values.is_array() && !HasShape(values, layout.sizes) &&
                       HasShape(values, Dims(once.sizes->begin(), once.sizes->end()));
  return is_once ? once : desc;
}

}  // namespace

void OperatorDocument::CheckInlineValues(Diagnostics& diagnostics) const {
  for (const TensorSlot& slot : TensorSlots(op())) {
    const auto binding = bindings_.find(slot.path);
    if (binding != bindings_.end() && binding->second.values) {
      CheckInlineValues(slot, *binding->second.values, diagnostics);
    }
    const auto expected = expected_.find(slot.path);
    if (expected == expected_.end()) continue;
    for (const JsonCursor values : expected->second) CheckInlineValues(slot, values, diagnostics);
  }
}

void OperatorDocument::CheckInlineValues(const TensorSlot& slot, JsonCursor values,
                                         Diagnostics& diagnostics) const {
  if (!slot.desc->complete()) return;
  Diagnostics of_tensor;
  ValidateTensorDesc(*slot.desc, slot.role(), slot.path, std::nullopt, of_tensor);
  if (of_tensor.has_errors() || ByteWidth(*slot.desc->data_type) == 0) return;
  Diagnostics of_values;
  InlineReader(DescOfValues(*slot.desc, values), ImpliedSeed(slot), nullptr, of_values)
      .Read(values);
  const Layout layout = LayoutOf(*slot.desc);
  if (!of_values.has_errors() && values.is_array() && HasOverlap(layout)) {
    InlineTensor(slot, values, of_values);
  }
  const bool is_input = slot.role() == TensorRole::kInput;
  if (is_input && of_values.has_errors())
    of_values.list()[0].message += RepetitionHint(values, *slot.desc);
  diagnostics.AppendAll(of_values);
}

std::vector<uint32_t> ShapeOfValues(JsonCursor values) {
  std::vector<uint32_t> sizes;
  for (std::optional<JsonCursor> array = values; array && array->is_array();
       array = array->first_child()) {
    sizes.push_back(static_cast<uint32_t>(array->child_count()));
  }
  return sizes;
}

// These are above the seeds that people write, so that no input repeats the values of another.
uint64_t OperatorDocument::ImpliedSeed(const TensorSlot& slot) const {
  constexpr uint64_t kFirst = uint64_t{1} << 32;
  return kFirst + SlotNumber(op(), slot);
}

LoadedTensor OperatorDocument::InlineTensor(const TensorSlot& slot, JsonCursor values,
                                            Diagnostics& diagnostics) const {
  const TensorDesc& desc = *slot.desc;
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  if (values.Find("value")) {  // one element, repeated
    TensorDesc one = desc;
    one.sizes->assign(1, 1);
    auto element = std::make_shared<Buffer>(ByteWidth(*desc.data_type));
    InlineReader(one, /*seed=*/0, element->data(), diagnostics).ReadConstant(values);
    const Layout repeated{sizes, Dims::Filled(sizes.size(), 0)};
    return {{element->data(), *desc.data_type, repeated}, element, {}};
  }
  const size_t width = ByteWidth(*desc.data_type);
  const uint64_t seed = ImpliedSeed(slot);
  if (const Layout layout = LayoutOf(desc); !values.is_array() && HasOverlap(layout)) {
    auto places = std::make_shared<Buffer>(static_cast<size_t>(Extent(layout)) * width);
    InlineReader(desc, seed, places->data(), diagnostics).Read(values);
    return {{places->data(), *desc.data_type, layout}, places, /*file_bytes=*/{}};
  }
  const TensorDesc written = DescOfValues(desc, values);
  const Layout layout = PackedLayout(Dims(written.sizes->begin(), written.sizes->end()));
  auto buffer = std::make_shared<Buffer>(static_cast<size_t>(layout.element_count()) * width);
  InlineReader(written, seed, buffer->data(), diagnostics).Read(values);
  const LoadedTensor tensor{{buffer->data(), *desc.data_type, layout}, buffer, /*file_bytes=*/{}};
  try {
    return FitToDesc(tensor, desc, "the values");
  } catch (const Error& error) {
    diagnostics.Error("DOC-4", values.pointer(), error.what(), values.offset());
    return tensor;
  }
}

}  // namespace dmlop
