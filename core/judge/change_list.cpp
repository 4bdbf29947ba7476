// SPDX-License-Identifier: Apache-2.0
// The changes of single fields that a device may make by mistake, by the kinds of fields.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "core/document/document_json.h"
#include "core/judge/descriptor_change.h"

namespace dmlop {
namespace {

// The shortest decimal number that is the float: 0.1, not what its value is exactly.
Json Short(float number) {
  if (!std::isfinite(number)) return NumberJson(number);
  if (number == std::trunc(number) && std::abs(number) < 1e6f) return static_cast<int>(number);
  return Json::parse(fmt::format("{}", number));
}
Json Short(double number) {
  const bool is_short = number == std::trunc(number) && std::abs(number) < 1e6;
  return is_short ? Json(static_cast<int>(number)) : Json(number);
}
Json Short(auto number) {
  return number;
}

class ChangeList {
 public:
  ChangeList(const OperatorDesc& op, InputViews inputs) : op_(op), inputs_(inputs) {}

  std::vector<DescriptorChange> All() {
    Fields(op_, "/desc");
    Exchanges();
    Tensors();
    return std::move(changes_);
  }

 private:
  void Add(const std::string& pointer, const Json& value) {
    DescriptorChange change{pointer, Utf8Text(value), ""};
    if (seen_.insert(change.id()).second) changes_.push_back(std::move(change));
  }
  void AddExchange(const std::string& pointer, const std::string& other) {
    changes_.push_back({pointer, "", other});
  }

  void Fields(const OperatorDesc& op, const std::string& root) {
    for (size_t i = 0; i < op.fields().size(); ++i) {
      const Field& field = *op.fields()[i];
      const FieldValue& value = op.values()[i];
      const std::string pointer = fmt::format("{}/{}", root, field.name);
      if (std::holds_alternative<std::monostate>(value) || field.is_tensor()) continue;
      if (field.optional) Add(pointer, nullptr);
      std::visit([&](const auto& held) { Values(field, pointer, held); }, value);
    }
  }

  void Values(const Field&, const std::string&, std::monostate) {}
  void Values(const Field&, const std::string&, const TensorDesc&) {}
  void Values(const Field&, const std::string&, const std::vector<TensorDesc>&) {}
  void Values(const Field&, const std::string& pointer, bool value) { Add(pointer, !value); }
  void Values(const Field&, const std::string& pointer, float value) { Numbers(pointer, value); }
  void Values(const Field&, const std::string& pointer, int32_t value) { Numbers(pointer, value); }

  void Values(const Field& field, const std::string& pointer, uint32_t value) {
    if (field.kind == FieldKind::kCount) return;
    if (field.kind == FieldKind::kUint) return Numbers(pointer, value);
    for (size_t name = 0; name < field.names.names.size(); ++name) {
      if (name != value) Add(pointer, field.names.names[name]);
    }
  }

  void Values(const Field&, const std::string& pointer, DataType type) {
    for (const std::string_view name : DataTypeNames()) {
      if (name != Name(type)) Add(pointer, name);
    }
  }

  void Values(const Field&, const std::string& pointer, const ScaleBias& factors) {
    Numbers(pointer + "/Scale", factors.scale);
    Numbers(pointer + "/Bias", factors.bias);
    AddExchange(pointer + "/Scale", pointer + "/Bias");
  }

  void Values(const Field&, const std::string& pointer, const Size2d& size) {
    Numbers(pointer + "/Width", size.width);
    Numbers(pointer + "/Height", size.height);
    AddExchange(pointer + "/Width", pointer + "/Height");
  }

  void Values(const Field&, const std::string& pointer, const Scalar& scalar) {
    const Json value = ElementJson(scalar.type, scalar.bytes.data());
    if (value.is_number_float()) return Numbers(pointer, value.get<double>());
    if (value.is_number_unsigned()) return Numbers(pointer, value.get<uint64_t>());
    if (value.is_number_integer()) Numbers(pointer, value.get<int64_t>());
  }

  // The values that a single number is mistaken for.
  template <typename T>
  static std::vector<T> OthersThan(T value) {
    std::vector<T> others = {T{0}, T{1}};
    if constexpr (std::is_integral_v<T>) {
      others.push_back(static_cast<T>(value + 1));
      if (value != 0) others.push_back(static_cast<T>(value - 1));
    }
    if constexpr (std::is_signed_v<T>) others.push_back(-value);
    if constexpr (std::is_floating_point_v<T>) {
      const bool is_whole = std::trunc(value) == value && std::abs(value) > 1;
      if (is_whole) others.insert(others.end(), {value + 1, value - 1});
    }
    std::erase(others, value);
    return others;
  }

  template <typename T>
  void Numbers(const std::string& pointer, T value) {
    for (const T other : OthersThan(value)) Add(pointer, Short(other));
  }

  template <typename T>
  void AddArray(const std::string& pointer, const std::vector<T>& array) {
    Add(pointer, ArrayJson(array));
  }

  // Entries of a longer array have pointers of their own.
  template <typename T>
  requires std::is_arithmetic_v<T>
  void Values(const Field& field, const std::string& pointer, const std::vector<T>& array) {
    seen_.insert(DescriptorChange{pointer, Utf8Text(ArrayJson(array)), ""}.id());
    if (field.limits.distinct) Subsets(pointer, array);
    for (size_t entry = 0; entry < array.size(); ++entry) {
      if (array.size() > 1) Numbers(fmt::format("{}/{}", pointer, entry), array[entry]);
    }
    Rearranged(pointer, array);
    for (const T other : {T{0}, T{1}}) AddArray(pointer, std::vector<T>(array.size(), other));
    EachChanged(pointer, array);
  }

  template <typename T>
  static Json ArrayJson(const std::vector<T>& array) {
    Json json = Json::array();
    for (const T entry : array) json.push_back(Short(entry));
    return json;
  }

  // All entries changed alike.
  template <typename T>
  void EachChanged(const std::string& pointer, const std::vector<T>& array) {
    const auto add = [&](auto&& change) {
      std::vector<T> changed;
      for (const T entry : array) changed.push_back(static_cast<T>(change(entry)));
      AddArray(pointer, changed);
    };
    if constexpr (std::is_integral_v<T>) {
      add([](T entry) { return entry + 1; });
      if (std::ranges::find(array, T{0}) == array.end()) add([](T entry) { return entry - 1; });
    }
    if constexpr (std::is_signed_v<T>) add([](T entry) { return -entry; });
  }

  template <typename T>
  void Rearranged(const std::string& pointer, std::vector<T> array) {
    std::ranges::reverse(array);
    AddArray(pointer, array);
    std::ranges::reverse(array);
    for (size_t i = 0; i < array.size(); ++i) {
      for (size_t k = i + 1; k < array.size(); ++k) {
        std::swap(array[i], array[k]);
        AddArray(pointer, array);
        std::swap(array[i], array[k]);
      }
    }
  }

  // Arrays of distinct numbers are sets, such as axes: an entry is left out, or there is another.
  template <typename T>
  void Subsets(const std::string& pointer, const std::vector<T>& array) {
    for (size_t i = 0; i < array.size(); ++i) {
      std::vector<T> fewer = array;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (!fewer.empty()) AddArray(pointer, fewer);
    }
    for (size_t number = 0; number < kMaxRank; ++number) {
      if (std::ranges::find(array, static_cast<T>(number)) != array.end()) continue;
      std::vector<T> more = array;
      more.push_back(static_cast<T>(number));
      std::ranges::sort(more);
      AddArray(pointer, more);
      for (size_t i = 0; i < array.size(); ++i) {
        std::vector<T> replaced = array;
        replaced[i] = static_cast<T>(number);
        AddArray(pointer, replaced);
      }
    }
  }

  void Values(const Field& field, const std::string& pointer,
              const std::vector<OperatorDesc>& activations) {
    for (size_t i = 0; i < activations.size(); ++i) {
      const std::string at =
          field.kind == FieldKind::kActivation ? pointer : fmt::format("{}/{}", pointer, i);
      for (const OperatorInfo* info : Operators()) {
        if (info->fusable.In(field.host) && info != &activations[i].info()) {
          Add(at + "/Type", info->name);
        }
      }
      Fields(activations[i], at);
      for (size_t k = i + 1; k < activations.size(); ++k) {
        AddExchange(at, fmt::format("{}/{}", pointer, k));
      }
    }
  }

  // Returns whether two values could be taken for one another.
  static bool AreAlike(const Field& a, const FieldValue& x, const Field& b, const FieldValue& y) {
    return a.kind == b.kind && x.index() == y.index() && LengthOf(x) == LengthOf(y) &&
           !a.is_tensor() && a.kind != FieldKind::kCount && a.kind != FieldKind::kEnum &&
           a.kind != FieldKind::kBool && a.kind != FieldKind::kActivation &&
           a.kind != FieldKind::kActivations;
  }

  void Exchanges() {
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      for (size_t k = i + 1; k < op_.fields().size(); ++k) {
        const Field& a = *op_.fields()[i];
        const Field& b = *op_.fields()[k];
        if (std::holds_alternative<std::monostate>(op_.values()[i])) continue;
        if (!AreAlike(a, op_.values()[i], b, op_.values()[k])) continue;
        AddExchange(fmt::format("/desc/{}", a.name), fmt::format("/desc/{}", b.name));
      }
    }
  }

  void Tensors() {
    const std::vector<TensorSlot> slots = TensorSlots(op_, TensorRole::kInput);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].field->optional) Add("/desc/" + slots[i].path, nullptr);
      for (size_t k = i + 1; k < slots.size(); ++k) {
        AddExchange("/desc/" + slots[i].path, "/desc/" + slots[k].path);
      }
    }
    for (size_t i = 0; i < slots.size() && slots.size() > 1; ++i) {
      for (const int value : {0, 1}) Add("/bindings/" + slots[i].path, value);
      if (i > 0) ReverseFew("/bindings/" + slots[i].path, inputs_[i]);
    }
    for (const TensorSlot& slot : slots) Reread("/desc/" + slot.path, *slot.desc);
    for (size_t i = 1; i < slots.size(); ++i) TakeFirstOfRows(slots[i]);
    Outputs();
  }

  // A few values that have meanings of their own, such as one for what is on and one for the rest.
  void ReverseFew(const std::string& pointer, const ConstTensorView& view) {
    constexpr int64_t kMost = 4;
    const int64_t count = view.layout.element_count();
    if (count < 2 || count > kMost) return;
    Json values = Json::array(), reversed = Json::array();
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(ValueAt(view, i));
      reversed.push_back(ValueAt(view, count - 1 - i));
    }
    if (reversed != values) Add(pointer, reversed);
  }

  static Json ValueAt(const ConstTensorView& view, int64_t element) {
    const int64_t offset = OffsetOfElement(view.layout, element);
    const Json value =
        ElementJson(view.type, view.data + offset * static_cast<int64_t>(ByteWidth(view.type)));
    if (!value.is_number_float()) return value;
    const bool is_long = view.type == DataType::kFloat64;
    return is_long ? Short(value.get<double>()) : Short(value.get<float>());
  }

  // Only neighbours are exchanged if there are many.
  void Outputs() {
    constexpr size_t kMany = 8;
    const std::vector<TensorSlot> slots = TensorSlots(op_, TensorRole::kOutput);
    for (size_t i = 0; i < slots.size(); ++i) {
      const size_t past = slots.size() > kMany ? std::min(i + 2, slots.size()) : slots.size();
      for (size_t k = i + 1; k < past; ++k) {
        if (!AreExchangeable(*slots[i].desc, *slots[k].desc)) continue;
        AddExchange("/desc/" + slots[i].path, "/desc/" + slots[k].path);
      }
    }
  }

  // A device takes one element of a scale or a bias for a row, but not of what it is applied to,
  // of which every element of a row would then be the same.
  void TakeFirstOfRows(const TensorSlot& slot) {
    auto [sizes, strides] = LayoutOf(*slot.desc);
    if (sizes.size() == 0 || sizes[sizes.size() - 1] == 1) return;
    strides[strides.size() - 1] = 0;
    const std::string pointer = "/desc/" + slot.path;
    AddStrides(pointer, strides);
    AddWithout(pointer, sizes, sizes.size() - 1);
  }

  void AddStrides(const std::string& pointer, const Dims& strides) {
    Add(pointer + "/Strides", std::vector<int64_t>(strides.begin(), strides.end()));
  }

  // The first elements of a tensor, taken for one without a dimension.
  void AddWithout(const std::string& pointer, Dims sizes, size_t dimension) {
    if (std::exchange(sizes[dimension], 1) == 1) return;
    Dims strides = PackedStrides(sizes);
    strides[dimension] = 0;
    AddStrides(pointer, strides);
  }

  // Readings of the same bytes: as numbers of the other signedness, with other strides, or the
  // first part of a dimension for all of them.
  void Reread(const std::string& pointer, const TensorDesc& desc) {
    if (!IsFloat(*desc.data_type)) {
      const std::string name(Name(*desc.data_type));
      Add(pointer + "/DataType", name.front() == 'U' ? name.substr(1) : "U" + name);
    }
    if (desc.strides) Add(pointer + "/Strides", nullptr);
    const auto [sizes, strides] = LayoutOf(desc);
    for (size_t d = 0; d + 1 < strides.size(); ++d) {
      for (const int64_t stride : {strides[d] - 1, strides[d] + 1, int64_t{0}}) {
        Dims others = strides;
        others[d] = stride;
        if (stride > 0 || (stride == 0 && sizes[d] > 1)) AddStrides(pointer, others);
      }
    }
    for (size_t d = 1; d + 1 < strides.size(); ++d) AddWithout(pointer, sizes, d);
    Pitches(pointer, sizes);
  }

  // Rows that are shorter by one, or as long as a multiple of a power of two.
  void Pitches(const std::string& pointer, Dims sizes) {
    const int64_t row = sizes.back();
    for (const int64_t pitch : {row - 1, row / 4 * 4, row / 8 * 8, row / 16 * 16, row / 32 * 32}) {
      if (pitch <= 0 || pitch == row || sizes.size() < 2) continue;
      sizes.back() = pitch;
      AddStrides(pointer, PackedStrides(sizes));
    }
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  std::vector<DescriptorChange> changes_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<DescriptorChange> SingleChangesOf(const Computation& computation) {
  return ChangeList(computation.op, computation.inputs).All();
}

}  // namespace dmlop
