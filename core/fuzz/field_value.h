// SPDX-License-Identifier: Apache-2.0
// Plain values in a descriptor by their paths: sizes, numbers, enumerators, booleans, also those of
// activations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/text.h"
#include "core/ops/operator.h"

namespace dmlop {

// The pointer to a descriptor in its document, before a path.
inline constexpr std::string_view kDescRoot = "/desc/";

using SettingValue = std::variant<bool, int64_t, double, std::string>;

// "FORWARD", "0.5"
std::string ToText(const SettingValue& value);

struct PlainValue {
  std::string path;  // "StartPadding/1", "FusedActivation/Alpha", "InputTensor/Sizes/3"
  const Field* field;
  SettingValue value;
};

// Lists those of fields, in the order of the fields, but not counts of arrays.
std::vector<PlainValue> PlainValuesOf(const OperatorDesc& op);

// Returns nothing if the path leads nowhere.
std::optional<SettingValue> ValueAt(const OperatorDesc& op, std::string_view path);
std::optional<int64_t> NumberAt(const OperatorDesc& op, std::string_view path);
// Returns false if the path leads nowhere, or the value does not go there.
bool SetValueAt(OperatorDesc& op, std::string_view path, const SettingValue& value);

// Returns whether entries of a field name dimensions.
bool NamesAxes(const Field& field);

// --- fields by their names -----------------------------------------------------------------------

inline OperatorDesc OperatorNamed(std::string_view name) {
  const OperatorInfo* info = FindOperator(name);
  if (info == nullptr) throw std::invalid_argument("no operator " + std::string(name));
  return OperatorDesc(*info);
}

// An operator without its tensors, as it is fused.
inline OperatorDesc ActivationNamed(std::string_view name) {
  OperatorDesc activation = OperatorNamed(name);
  for (const Field* tensor : TensorFieldsOf(activation.info())) activation.Remove(*tensor);
  return activation;
}

inline FieldValue& ValueOf(OperatorDesc& desc, std::string_view field) {
  for (size_t i = 0; i < desc.fields().size(); ++i) {
    if (desc.fields()[i]->name == field) return desc.values()[i];
  }
  throw std::invalid_argument("no field " + std::string(field));
}

template <typename T>
const T& Get(const OperatorDesc& desc, std::string_view field) {
  return std::get<T>(ValueOf(const_cast<OperatorDesc&>(desc), field));
}

// An enumerator is set by its number; an empty optional sets nothing.
template <typename T>
void Set(OperatorDesc& desc, std::string_view field, T value) {
  if constexpr ((std::is_enum_v<T> && !std::is_same_v<T, DataType>) || std::is_same_v<T, int>) {
    ValueOf(desc, field) = static_cast<uint32_t>(value);
  } else {
    ValueOf(desc, field) = std::move(value);
  }
}
template <typename T>
void Set(OperatorDesc& desc, std::string_view field, std::optional<T> value) {
  if (value) Set(desc, field, *std::move(value));
}
inline void Set(OperatorDesc& desc, std::string_view field, std::initializer_list<uint32_t> value) {
  ValueOf(desc, field) = std::vector<uint32_t>(value);
}
inline void Set(OperatorDesc& desc, std::string_view field,
                std::initializer_list<TensorDesc> value) {
  ValueOf(desc, field) = std::vector<TensorDesc>(value);
}

// A pattern is a name or, behind *, a part of one.
inline bool IsOf(std::string_view name, std::string_view pattern) {
  return pattern.starts_with('*') ? name.find(pattern.substr(1)) != name.npos : name == pattern;
}
inline bool IsOneOf(std::string_view name, std::string_view patterns) {
  return std::ranges::any_of(WordsOf(patterns),
                             [&](std::string_view pattern) { return IsOf(name, pattern); });
}

inline bool HasField(const OperatorDesc& desc, std::string_view name) {
  return std::ranges::any_of(desc.fields(),
                             [&](const Field* field) { return field->name == name; });
}

// Adds the tensor if it is left out.
inline void SetSizes(OperatorDesc& desc, std::string_view tensor, std::vector<uint32_t> sizes) {
  FieldValue& value = ValueOf(desc, tensor);
  if (std::holds_alternative<std::monostate>(value)) value = TensorDesc();
  std::get<TensorDesc>(value).sizes = std::move(sizes);
}

// Fills in omitted fields, as a check without findings does. Returns whether it has none.
inline bool Complete(OperatorDesc& desc) {
  Diagnostics faults;
  Check(desc, kHighestFeatureLevel, faults);
  return !faults.has_errors();
}

// Likewise at a level; returns whether nothing is found, not even a warning.
inline bool IsSound(OperatorDesc& desc, FeatureLevel level) {
  Diagnostics found;
  Check(desc, level, found);
  return found.list().empty();
}

}  // namespace dmlop
