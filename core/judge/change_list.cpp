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

// Pairs of changes that a device makes at once.
class PairList {
 public:
  explicit PairList(const OperatorDesc& op) : op_(op) {}

  std::vector<std::vector<DescriptorChange>> All() {
    MovePadding();
    LeaveOutDilations();
    LeaveOutWithType();
    LeaveOutTogether();
    Zeros<std::vector<float>>("InputPixelOffsets", "OutputPixelOffsets");
    Zeros<float>("InputPixelOffset", "OutputPixelOffset");
    return std::move(pairs_);
  }

 private:
  using Numbers = std::vector<uint32_t>;

  template <typename T>
  const T* Find(std::string_view name) const {
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      if (op_.fields()[i]->name == name) return std::get_if<T>(&op_.values()[i]);
    }
    return nullptr;
  }

  void Add(std::vector<DescriptorChange> changes) {
    std::string all;
    for (const DescriptorChange& change : changes) all += change.id();
    if (seen_.insert(all).second) pairs_.push_back(std::move(changes));
  }

  // Moves padding from one end to the other: by one along each axis, or along all; and all of it.
  // Along one of several axes, the ends are exchanged, too.
  void MovePadding() {
    const auto* start = Find<Numbers>("StartPadding");
    const auto* end = Find<Numbers>("EndPadding");
    if (start == nullptr || end == nullptr || start->size() != end->size()) return;
    for (size_t i = 0; i < start->size(); ++i) {
      Move(*start, *end, i, i + 1, 1);
      Move(*start, *end, i, i + 1, -1);
      const int exchange = static_cast<int>((*end)[i]) - static_cast<int>((*start)[i]);
      if (start->size() > 1) Move(*start, *end, i, i + 1, exchange);
    }
    for (const int step : {1, -1, kAll, -kAll}) Move(*start, *end, 0, start->size(), step);
  }

  // A tensor whose type is a field of its own, such as a mask.
  void LeaveOutWithType() {
    for (const TensorSlot& slot : TensorSlots(op_, TensorRole::kInput)) {
      constexpr std::string_view kTensor = "Tensor";
      if (!slot.path.ends_with(kTensor)) continue;
      const std::string type = slot.path.substr(0, slot.path.size() - kTensor.size()) + "Type";
      if (Find<uint32_t>(type) == nullptr) continue;
      Add({{"/desc/" + type, "\"NONE\"", ""}, {"/desc/" + slot.path, "null", ""}});
    }
  }

  // Tensors of which neither may be there without the other, such as keys and values of the past.
  void LeaveOutTogether() {
    std::vector<size_t> tensors;
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      const Field& field = *op_.fields()[i];
      const bool may_be_left_out = field.optional && field.role == TensorRole::kInput &&
                                   std::holds_alternative<TensorDesc>(op_.values()[i]);
      if (may_be_left_out && !IsValidWithout({i})) tensors.push_back(i);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
      for (size_t k = i + 1; k < tensors.size(); ++k) {
        if (!IsValidWithout({tensors[i], tensors[k]})) continue;
        Add({{fmt::format("/desc/{}", op_.fields()[tensors[i]]->name), "null", ""},
             {fmt::format("/desc/{}", op_.fields()[tensors[k]]->name), "null", ""}});
      }
    }
  }

  bool IsValidWithout(std::initializer_list<size_t> fields) const {
    OperatorDesc without = op_;
    for (const size_t field : fields) without.values()[field] = std::monostate();
    Diagnostics faults;
    Check(without, kHighestFeatureLevel, faults);
    return !faults.has_errors();
  }

  static constexpr int kAll = 1 << 30;

  // Moves up to `step` along the axes in [first, past) from the end to the start.
  void Move(const Numbers& start, const Numbers& end, size_t first, size_t past, int step) {
    Numbers starts = start, ends = end;
    for (size_t i = first; i < past; ++i) {
      const auto most = static_cast<int>(step > 0 ? end[i] : start[i]);
      const auto moved = static_cast<uint32_t>(std::clamp(step, -most, most));
      starts[i] += moved;
      ends[i] -= moved;
    }
    if (starts != start) Add({Set("StartPadding", start, starts), Set("EndPadding", end, ends)});
  }

  // Taps that are beside one another in place of dilated ones, along each axis or along all.
  // Windows are smaller then, and so is padding: at its end, where they begin at the same place,
  // or by half at both ends, where they have the same middle.
  void LeaveOutDilations() {
    const auto* dilations = Find<Numbers>("Dilations");
    const auto* start = Find<Numbers>("StartPadding");
    const auto* end = Find<Numbers>("EndPadding");
    const std::optional<Numbers> windows = WindowSizes();
    if (dilations == nullptr || start == nullptr || end == nullptr || !windows) return;
    const size_t axes = dilations->size();
    const auto leave_out = [&](size_t first, size_t past) {
      LeaveOutDilations({*dilations, *start, *end}, *windows, first, past);
    };
    leave_out(0, axes);
    for (size_t i = 0; i < axes; ++i) leave_out(i, i + 1);
  }

  struct Windows {
    Numbers dilations, start, end;
  };

  void LeaveOutDilations(const Windows& before, const Numbers& sizes, size_t first, size_t past) {
    for (const uint32_t parts : {1u, 2u}) {
      Windows after = before;
      bool is_enough = true;
      for (size_t i = first; i < past; ++i) {
        const uint32_t shorter = (sizes[i] - 1) * (std::exchange(after.dilations[i], 1) - 1);
        const uint32_t at_start = shorter - shorter / parts;
        is_enough = is_enough && after.start[i] >= at_start && after.end[i] >= shorter - at_start;
        after.start[i] -= at_start;
        after.end[i] -= shorter - at_start;
      }
      if (!is_enough || after.dilations == before.dilations) continue;
      std::vector<DescriptorChange> changes = {Set("Dilations", before.dilations, after.dilations)};
      if (parts > 1) changes.push_back(Set("StartPadding", before.start, after.start));
      changes.push_back(Set("EndPadding", before.end, after.end));
      Add(std::move(changes));
    }
  }

  // Returns the sizes that a window, or a filter, has along the last axes.
  std::optional<Numbers> WindowSizes() const {
    if (const auto* windows = Find<Numbers>("WindowSize")) return *windows;
    const std::vector<TensorSlot> slots = TensorSlots(op_, TensorRole::kInput);
    const auto filter = std::ranges::find(slots, "FilterTensor", &TensorSlot::path);
    const auto* dilations = Find<Numbers>("Dilations");
    if (filter == slots.end() || dilations == nullptr) return std::nullopt;
    const auto& sizes = *filter->desc->sizes;
    return Numbers(sizes.end() - static_cast<std::ptrdiff_t>(dilations->size()), sizes.end());
  }

  // A single entry of several has a pointer of its own.
  static DescriptorChange Set(std::string_view name, const Numbers& before, const Numbers& after) {
    const auto [was, is] = std::ranges::mismatch(before, after);
    const auto entry = static_cast<size_t>(is - after.begin());
    if (after.size() > 1 && std::equal(was + 1, before.end(), is + 1)) {
      return {fmt::format("/desc/{}/{}", name, entry), fmt::format("{}", *is), ""};
    }
    return {fmt::format("/desc/{}", name), Utf8Text(Json(after)), ""};
  }

  template <typename T>
  void Zeros(std::string_view name, std::string_view other) {
    const T* const one = Find<T>(name);
    if (one == nullptr || Find<T>(other) == nullptr) return;
    Json zero = 0;
    if constexpr (!std::is_arithmetic_v<T>) zero = std::vector<int>(one->size(), 0);
    Add({{fmt::format("/desc/{}", name), Utf8Text(zero), ""},
         {fmt::format("/desc/{}", other), Utf8Text(zero), ""}});
  }

  const OperatorDesc& op_;
  std::vector<std::vector<DescriptorChange>> pairs_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<DescriptorChange> SingleChangesOf(const Computation& computation) {
  return ChangeList(computation.op, computation.inputs).All();
}

std::vector<std::vector<DescriptorChange>> CommonPairsOf(const OperatorDesc& op) {
  return PairList(op).All();
}

}  // namespace dmlop
