// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/fuzz/case_change.h"

namespace dmlop {
namespace {

std::string_view SizeClassOf(uint64_t size) {
  if (size < 2) return size == 0 ? "0" : "1";
  if (size < 16) return "2 to 15";
  return size % 16 == 0 ? "a multiple of 16" : "16 and more";
}

std::string_view IntegerClassOf(int64_t number) {
  return number < 0 ? "negative" : SizeClassOf(static_cast<uint64_t>(number));
}

class SettingLister {
 public:
  SettingLister(const OperatorDesc& op, const ValueClasses& classes) : op_(op), classes_(classes) {}

  std::vector<std::string> List() {
    settings_.reserve(32);  // enough for most operators
    ListTypes();
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      const Field& field = *op_.fields()[i];
      if (!field.is_tensor()) ListField(field, op_.values()[i]);
      if (field.is_tensor() && !op_.Has(field)) Add(field.name, "absent");
    }
    for (const TensorSlot& slot : TensorSlots(op_)) ListTensor(slot);
    return std::move(settings_);
  }

 private:
  void Add(std::string_view of, std::string_view is) { Add(of, "", is); }
  void Add(std::string_view of, std::string_view entry, std::string_view is) {
    std::string& setting = settings_.emplace_back();
    setting.reserve(of.size() + entry.size() + 1 + is.size());
    setting.append(of).append(entry).append(1, ' ').append(is);
  }

  void ListTypes() {
    std::string types;
    std::set<TypeVariable> known;
    for (const TensorSlot& slot : TensorSlots(op_)) {
      if (known.insert(slot.type).second) types += fmt::format(" {}", Name(*slot.desc->data_type));
    }
    settings_.push_back(types.substr(1));
  }

  void ListField(const Field& field, const FieldValue& value) {
    if (const auto* number = std::get_if<uint32_t>(&value)) {
      const bool is_enum = field.kind == FieldKind::kEnum;
      Add(field.name, is_enum ? field.names.names[*number] : SizeClassOf(*number));
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      Add(field.name, *flag ? "true" : "false");
    } else if (const auto* whole = std::get_if<int32_t>(&value)) {
      Add(field.name, IntegerClassOf(*whole));
    } else if (const auto* numbers = std::get_if<std::vector<uint32_t>>(&value)) {
      ListNumbers(field.name, *numbers);
    } else if (const auto* wholes = std::get_if<std::vector<int32_t>>(&value)) {
      ListNumbers(field.name, *wholes);
    } else if (const auto* operators = std::get_if<std::vector<OperatorDesc>>(&value)) {
      for (size_t i = 0; i < operators->size(); ++i) {
        Add(fmt::format("{}/{}", field.name, i), (*operators)[i].name());
      }
    } else if (field.optional) {
      Add(field.name, std::holds_alternative<std::monostate>(value) ? "absent" : "present");
    }
  }

  // Counted from the last one, as dimensions are.
  template <typename T>
  void ListNumbers(std::string_view of, const std::vector<T>& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const std::string entry = "/-" + std::to_string(numbers.size() - i);
      Add(of, entry, IntegerClassOf(int64_t{numbers[i]}));
    }
  }

  // Sizes that an earlier tensor has, too, are told once.
  void ListTensor(const TensorSlot& slot) {
    Add(slot.path, LayoutNameOf(*slot.desc));
    if (known_sizes_.insert(*slot.desc->sizes).second) {
      ListNumbers(slot.path + "/Sizes", *slot.desc->sizes);
    }
    if (slot.role() == TensorRole::kOutput) return;
    const auto found = classes_.find(slot.path);
    Add(slot.path + " values", Name(found == classes_.end() ? InputClass() : found->second));
  }

  const OperatorDesc& op_;
  const ValueClasses& classes_;
  std::vector<std::string> settings_;
  std::set<std::vector<uint32_t>> known_sizes_;
};

}  // namespace

std::vector<std::string> SettingsOf(const OperatorDesc& op, const ValueClasses& classes) {
  return SettingLister(op, classes).List();
}

SettingPairs::Ids SettingPairs::IdsOf(const std::vector<std::string>& settings) {
  Ids ids;
  for (const std::string& setting : settings) {
    const auto [found, is_new] = ids_.try_emplace(setting, static_cast<uint16_t>(names_.size()));
    if (is_new) names_.push_back(setting);
    ids.push_back(found->second);
  }
  std::ranges::sort(ids);
  return ids;
}

std::pair<uint16_t, uint16_t> SettingPairs::SettingsOfPair(size_t pair) {
  uint16_t second = 1;
  while (size_t{second} * (second + 1u) / 2 <= pair) ++second;
  return {static_cast<uint16_t>(pair - size_t{second} * (second - 1u) / 2), second};
}

int64_t PairSet::Add(const SettingPairs::Ids& ids) {
  int64_t added = 0;
  SettingPairs::ForEach(ids, [&](size_t pair) {
    if (pair >= is_in_.size()) is_in_.resize(pair + 1);
    added += 1 - is_in_[pair];
    is_in_[pair] = 1;
  });
  count_ += added;
  return added;
}

int64_t PairSet::CountNew(const SettingPairs::Ids& ids) const {
  int64_t count = 0;
  SettingPairs::ForEach(ids, [&](size_t pair) { count += Contains(pair) ? 0 : 1; });
  return count;
}

}  // namespace dmlop
