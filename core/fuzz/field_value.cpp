// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/field_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/judge/computation.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

std::pair<std::string_view, std::string_view> SplitFirst(std::string_view path) {
  const size_t slash = std::min(path.find('/'), path.size());
  return {path.substr(0, slash), path.substr(std::min(slash + 1, path.size()))};
}

template <typename Array>
auto EntryOf(Array& array, std::string_view number) -> decltype(array.data()) {
  size_t entry = array.size();
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), entry);
  const bool is_number = fault == std::errc() && end == number.data() + number.size();
  return is_number && entry < array.size() ? array.data() + entry : nullptr;
}

// Calls visit(field, value) with the plain value at a path, and returns whether there is one.
template <typename Op, typename Visit>
class PlainWalk {
 public:
  explicit PlainWalk(Visit& visit) : visit_(visit) {}

  bool In(Op& op, std::string_view path) {
    const auto [name, rest] = SplitFirst(path);
    for (size_t i = 0; i < op.fields().size(); ++i) {
      if (op.fields()[i]->name != name) continue;
      field_ = op.fields()[i];
      return std::visit([&, at = rest](auto& value) { return At(value, at); }, op.values()[i]);
    }
    return false;
  }

 private:
  template <typename T>
  bool At(T& value, std::string_view path) {
    using Value = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Value, TensorDesc>) {
      return path.starts_with("Sizes/") && value.sizes && At(*value.sizes, path.substr(6));
    } else if constexpr (std::is_same_v<Value, ScaleBias>) {
      if (path != "Scale" && path != "Bias") return false;
      return At(path == "Scale" ? value.scale : value.bias, "");
    } else if constexpr (std::is_same_v<Value, Size2d>) {
      if (path != "Width" && path != "Height") return false;
      return At(path == "Width" ? value.width : value.height, "");
    } else if constexpr (requires { value.data(); }) {
      return InArray(value, path);
    } else if constexpr (std::is_same_v<Value, std::monostate> || std::is_same_v<Value, DataType>) {
      return false;
    } else {
      if (path.empty()) visit_(*field_, value);
      return path.empty();
    }
  }

  template <typename Array>
  bool InArray(Array& array, std::string_view path) {
    const bool is_one = field_->kind == FieldKind::kActivation;
    const auto [number, rest] = is_one ? std::pair(std::string_view("0"), path) : SplitFirst(path);
    auto* entry = EntryOf(array, number);
    if (entry == nullptr) return false;
    if constexpr (std::is_same_v<std::remove_const_t<Array>, std::vector<OperatorDesc>>) {
      return In(*entry, rest);
    } else {
      return At(*entry, rest);
    }
  }

  Visit& visit_;
  const Field* field_ = nullptr;
};

template <typename Op, typename Visit>
bool VisitPlain(Op& op, std::string_view path, Visit&& visit) {
  return PlainWalk<Op, Visit>(visit).In(op, path);
}

// --- reading -------------------------------------------------------------------------------------

SettingValue ReadPlain(const Field& field, uint32_t value) {
  if (field.kind != FieldKind::kEnum) return int64_t{value};
  return std::string(field.names.names[value]);
}
SettingValue ReadPlain(const Field&, int32_t value) {
  return int64_t{value};
}
SettingValue ReadPlain(const Field&, float value) {
  return double{value};
}
SettingValue ReadPlain(const Field&, bool value) {
  return value;
}
SettingValue ReadPlain(const Field&, const Scalar& scalar) {
  return scalar.type == DataType::kUnknown ? 0.0 : ValueOf(scalar.type, scalar.bytes.data());
}

// --- writing -------------------------------------------------------------------------------------

std::optional<float> AsNumber(const SettingValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value))
    return static_cast<float>(static_cast<double>(*whole));
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? std::optional(static_cast<float>(*number)) : std::nullopt;
}

template <typename T>
bool WritePlain(const Field& field, const SettingValue& value, T& to) {
  if (field.kind == FieldKind::kEnum) {
    const auto* name = std::get_if<std::string>(&value);
    if (name == nullptr) return false;
    const auto found = std::ranges::find(field.names.names, *name);
    to = static_cast<T>(found - field.names.names.begin());
    return found != field.names.names.end();
  }
  const auto* number = std::get_if<int64_t>(&value);
  if (number == nullptr || !std::in_range<T>(*number)) return false;
  to = static_cast<T>(*number);
  return true;
}
bool WritePlain(const Field&, const SettingValue& value, bool& to) {
  const auto* truth = std::get_if<bool>(&value);
  if (truth != nullptr) to = *truth;
  return truth != nullptr;
}
bool WritePlain(const Field&, const SettingValue& value, float& to) {
  const std::optional<float> number = AsNumber(value);
  to = number.value_or(to);
  return number.has_value();
}
bool WritePlain(const Field&, const SettingValue& value, Scalar& to) {
  const std::optional<float> number = AsNumber(value);
  if (to.type == DataType::kUnknown || !number) return false;
  const ElementBytes bytes = ConvertElement(*number, to.type);
  to.bytes = bytes;
  return true;
}

// --- lists ---------------------------------------------------------------------------------------

class PlainList {
 public:
  std::vector<PlainValue> Of(const OperatorDesc& op, const std::string& root) {
    for (size_t i = 0; i < op.fields().size(); ++i) {
      const Field& field = *op.fields()[i];
      if (field.kind == FieldKind::kCount || field.is_tensor()) continue;
      const std::string path = root + std::string(field.name);
      std::visit([&](const auto& value) { Add(field, path, value); }, op.values()[i]);
    }
    return std::move(list_);
  }

 private:
  template <typename T>
  void Add(const Field& field, const std::string& path, const T& value) {
    if constexpr (std::is_same_v<T, ScaleBias>) {
      Add(field, path + "/Scale", value.scale);
      Add(field, path + "/Bias", value.bias);
    } else if constexpr (std::is_same_v<T, Size2d>) {
      Add(field, path + "/Width", value.width);
      Add(field, path + "/Height", value.height);
    } else if constexpr (std::is_same_v<T, std::vector<OperatorDesc>>) {
      for (size_t i = 0; i < value.size(); ++i) {
        const bool is_one = field.kind == FieldKind::kActivation;
        Of(value[i], is_one ? path + "/" : fmt::format("{}/{}/", path, i), 0);
      }
    } else if constexpr (requires { value.data(); }) {
      for (size_t i = 0; i < value.size(); ++i) Add(field, fmt::format("{}/{}", path, i), value[i]);
    } else if constexpr (requires { ReadPlain(field, value); }) {
      list_.push_back({path, &field, ReadPlain(field, value)});
    }
  }
  void Of(const OperatorDesc& op, const std::string& root, int) {
    std::vector<PlainValue> within = PlainList().Of(op, root);
    list_.insert(list_.end(), within.begin(), within.end());
  }
  void Add(const Field&, const std::string&, const TensorDesc&) {}

  std::vector<PlainValue> list_;
};

}  // namespace

std::string ToText(const SettingValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

std::vector<PlainValue> PlainValuesOf(const OperatorDesc& op) {
  return PlainList().Of(op, "");
}

std::optional<SettingValue> ValueAt(const OperatorDesc& op, std::string_view path) {
  std::optional<SettingValue> found;
  VisitPlain(op, path,
             [&](const Field& field, const auto& value) { found = ReadPlain(field, value); });
  return found;
}

std::optional<int64_t> NumberAt(const OperatorDesc& op, std::string_view path) {
  const std::optional<SettingValue> value = ValueAt(op, path);
  const auto* number = value ? std::get_if<int64_t>(&*value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

bool SetValueAt(OperatorDesc& op, std::string_view path, const SettingValue& value) {
  bool is_set = false;
  VisitPlain(op, path,
             [&](const Field& field, auto& to) { is_set = WritePlain(field, value, to); });
  return is_set;
}

bool NamesAxes(const Field& field) {
  return field.name.ends_with("Axis") || field.name.ends_with("Axes");
}

}  // namespace dmlop
