// SPDX-License-Identifier: Apache-2.0
// The values that settings are tried with.
#include <algorithm>
#include <iterator>
#include <span>

#include "core/fuzz/setting.h"
#include "core/ops/support_check.h"

namespace dmlop {
namespace {

// Ranges of whole numbers, both ends included.
struct Range {
  int64_t first;
  int64_t last;
};

std::vector<SettingValue> NumbersOf(std::span<const Range> ranges) {
  std::vector<SettingValue> numbers;
  for (const auto [first, last] : ranges) {
    for (int64_t number = first; number <= last; ++number) numbers.emplace_back(number);
  }
  return numbers;
}

std::vector<SettingValue> NumbersToTry(SettingKind kind, bool many) {
  constexpr Range kSizes[] = {{1, 5}, {8, 8}, {15, 17}, {31, 33}, {64, 64}};
  constexpr Range kIntegers[] = {{0, 4}, {8, 8}};
  constexpr Range kRanks[] = {{1, kMaxRank}};
  constexpr Range kCounts[] = {{1, 5}, {8, 8}};
  constexpr Range kMany[] = {{0, 33}, {47, 49}, {63, 65}, {127, 129}, {255, 257}};
  if (kind == SettingKind::kRank) return NumbersOf(kRanks);
  if (kind == SettingKind::kCount) return NumbersOf(kCounts);
  if (many) return NumbersOf(kMany);
  if (kind == SettingKind::kSize) return NumbersOf(kSizes);
  return NumbersOf(kIntegers);
}

template <typename Names>
std::vector<SettingValue> WordsFrom(const Names& names) {
  std::vector<SettingValue> words;
  for (const auto& name : names) words.emplace_back(std::string(name));
  return words;
}

std::vector<SettingValue> EnumeratorsOf(const Setting& setting) {
  if (setting.field->kind == FieldKind::kEnum) return WordsFrom(setting.field->names.names);
  std::vector<SettingValue> names;
  for (const OperatorInfo* info : ActivationsOf(setting.field->host)) {
    names.emplace_back(std::string(info->name));
  }
  return names;
}

}  // namespace

std::vector<const OperatorInfo*> ActivationsOf(ActivationHost host) {
  std::vector<const OperatorInfo*> all(Operators().begin(), Operators().end());
  std::erase_if(all, [&](const OperatorInfo* info) { return !info->fusable.In(host); });
  return all;
}

std::vector<DataType> TypesFor(const OperatorDesc& op, const Field& field) {
  const SupportTable* table = SupportFor(op);
  std::vector<DataType> types;
  for (size_t i = 1; table != nullptr && i < DataTypeNames().size(); ++i) {
    const auto type = static_cast<DataType>(i);
    if (table->rows.back().TypesOf(field.type).Contains(type)) types.push_back(type);
  }
  return types;
}

SettingValue DefaultOf(const PlainValue& plain) {
  const Field& field = *plain.field;
  if (field.kind == FieldKind::kEnum) return std::string(field.names.names.front());
  if (std::holds_alternative<bool>(plain.value)) return false;
  const bool is_factor = field.limits.min == 1 || field.name == "Alpha" ||
                         field.name.ends_with("Scales") || plain.path.ends_with("/Scale") ||
                         field.name.ends_with("Strides");
  if (std::holds_alternative<int64_t>(plain.value)) return int64_t{is_factor};
  return is_factor ? 1.0 : 0.0;
}

std::vector<SettingValue> ValuesToTry(const Setting& setting, const OperatorDesc& op, bool many) {
  switch (setting.kind) {
    case SettingKind::kPresence:
      return {std::string(kPresent), std::string(kAbsent)};
    case SettingKind::kBool:
      return {false, true};
    case SettingKind::kScalar:
      if (many) return {-2.0, -0.5, 0.5, 2.0};
      return {DefaultOf({setting.path, setting.field, setting.value}), 0.0, 1.0, -1.0};
    case SettingKind::kEnum:
      return EnumeratorsOf(setting);
    case SettingKind::kLayout:
      return WordsFrom(kLayoutKinds);
    case SettingKind::kType: {
      std::vector<SettingValue> names;
      for (const DataType type : TypesFor(op, *setting.field)) {
        names.emplace_back(std::string(Name(type)));
      }
      return names;
    }
    case SettingKind::kValues:
      return {};
    default:
      break;
  }
  std::vector<SettingValue> numbers = NumbersToTry(setting.kind, many);
  if (setting.kind == SettingKind::kSize && !many) {
    // It may have to be a multiple of something.
    const auto size = std::get<int64_t>(setting.value);
    for (const int64_t times : {2, 3, 4}) numbers.emplace_back(times * size);
    if (size % 2 == 0) numbers.emplace_back(size / 2);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

}  // namespace dmlop
