// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/field_value.h"

#include <fmt/format.h>

#include "core/arithmetic/computation.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

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

// --- walks ---------------------------------------------------------------------------------------

// Calls visit(path, field, value) for each plain value of a descriptor, and for each size of its
// tensors, or only for the one that is wanted.
template <typename Op, typename Visit>
class PlainWalk {
 public:
  PlainWalk(std::optional<std::string_view> wanted, Visit& visit)
      : wanted_(wanted), visit_(visit) {}

  void In(Op& op, const std::string& root) {
    for (size_t i = 0; i < op.fields().size(); ++i) {
      const Field& field = *op.fields()[i];
      if (!MayLeadOn(root, field.name)) continue;
      const std::string path = root + std::string(field.name);
      std::visit([&](auto& value) { At(field, path, value); }, op.values()[i]);
    }
  }

 private:
  bool MayLeadOn(const std::string& root, std::string_view name) const {
    return !wanted_ || wanted_->substr(std::min(root.size(), wanted_->size())).starts_with(name);
  }

  template <typename T>
  void At(const Field& field, const std::string& path, T& value) {
    using Value = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Value, TensorDesc>) {
      if (value.sizes) At(field, path + "/Sizes", *value.sizes);
    } else if constexpr (std::is_same_v<Value, ScaleBias>) {
      At(field, path + "/Scale", value.scale);
      At(field, path + "/Bias", value.bias);
    } else if constexpr (std::is_same_v<Value, Size2d>) {
      At(field, path + "/Width", value.width);
      At(field, path + "/Height", value.height);
    } else if constexpr (std::is_same_v<Value, std::vector<OperatorDesc>>) {
      for (size_t i = 0; i < value.size(); ++i) {
        const bool is_one = field.kind == FieldKind::kActivation;
        In(value[i], is_one ? path + "/" : fmt::format("{}/{}/", path, i));
      }
    } else if constexpr (requires { value.data(); }) {
      for (size_t i = 0; i < value.size(); ++i) At(field, fmt::format("{}/{}", path, i), value[i]);
    } else if constexpr (requires { ReadPlain(field, value); }) {
      if (!wanted_ || *wanted_ == path) visit_(path, field, value);
    }
  }

  const std::optional<std::string_view> wanted_;
  Visit& visit_;
};

template <typename Op, typename Visit>
void VisitPlain(Op& op, std::optional<std::string_view> wanted, Visit&& visit) {
  PlainWalk<Op, Visit>(wanted, visit).In(op, "");
}

}  // namespace

std::string ToText(const SettingValue& value) {
  return std::visit([](const auto& held) { return fmt::format("{}", held); }, value);
}

std::vector<PlainValue> PlainValuesOf(const OperatorDesc& op) {
  std::vector<PlainValue> list;
  VisitPlain(op, std::nullopt, [&](const std::string& path, const Field& field, const auto& value) {
    if (field.kind == FieldKind::kCount || field.is_tensor()) return;
    list.push_back({path, &field, ReadPlain(field, value)});
  });
  return list;
}

std::optional<SettingValue> ValueAt(const OperatorDesc& op, std::string_view path) {
  std::optional<SettingValue> found;
  VisitPlain(op, path, [&](const std::string&, const Field& field, const auto& value) {
    found = ReadPlain(field, value);
  });
  return found;
}

std::optional<int64_t> NumberAt(const OperatorDesc& op, std::string_view path) {
  const std::optional<SettingValue> value = ValueAt(op, path);
  const auto* number = value ? std::get_if<int64_t>(&*value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

bool SetValueAt(OperatorDesc& op, std::string_view path, const SettingValue& value) {
  bool is_set = false;
  VisitPlain(op, path, [&](const std::string&, const Field& field, auto& to) {
    is_set = WritePlain(field, value, to);
  });
  return is_set;
}

bool NamesAxes(const Field& field) {
  return field.name.ends_with("Axis") || field.name.ends_with("Axes");
}

}  // namespace dmlop
