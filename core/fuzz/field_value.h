// SPDX-License-Identifier: Apache-2.0
// Plain values in a descriptor by their paths: sizes, numbers, enumerators, booleans, also those of
// activations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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

// Whether entries of a field name dimensions.
bool NamesAxes(const Field& field);

}  // namespace dmlop
