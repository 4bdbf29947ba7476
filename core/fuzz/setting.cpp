// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "core/document/operator_document.h"

namespace dmlop {
namespace {

bool IsDigit(char c) {
  return '0' <= c && c <= '9';
}

std::string PointerTo(std::string_view path) {
  return std::string(kDescRoot) + std::string(path);
}

// --- symbols of sizes ----------------------------------------------------------------------------

// "N", "C", "H", "W", as sizes of images are called.
std::string NameOfDimension(size_t dimension, size_t rank) {
  constexpr std::string_view kFromLast = "WHDEFG";
  if (rank > 2 && dimension < 2) return dimension == 0 ? "N" : "C";
  return std::string(1, kFromLast[rank - 1 - dimension]);
}

class SymbolFinder {
 public:
  explicit SymbolFinder(const CaseChanger& changer)
      : changer_(changer), paths_(SizePathsOf(changer.draft().op)) {}

  std::vector<Setting> All() {
    for (const std::string& path : paths_) {
      if (!covered_.contains(path)) Add(path);
    }
    return std::move(symbols_);
  }

 private:
  int64_t SizeAt(const std::string& path) const { return *NumberAt(changer_.draft().op, path); }

  // Returns the sizes that change if one does, itself first; none if it cannot be so.
  std::vector<std::string> TiesIf(const std::string& path, int64_t size) const {
    if (size < 1) return {};
    CaseDraft draft = changer_.draft();
    draft.Set(path, size);
    const std::optional<OperatorDesc> fitted = changer_.Fitted(draft);
    if (!fitted) return {};
    std::vector<std::string> ties = {path};
    for (const std::string& other : paths_) {
      if (other != path && NumberAt(*fitted, other) != SizeAt(other)) ties.push_back(other);
    }
    return ties;
  }

  void Add(const std::string& path) {
    const int64_t size = SizeAt(path);
    std::vector<std::string> ties;
    for (const int64_t other : {2 * size, size + 1, size + 2, size - 1}) {
      if (ties.empty()) ties = TiesIf(path, other);
    }
    covered_.insert(path);
    if (ties.empty()) return;  // it cannot be varied
    // One that is a multiple of another cannot be any number.
    if (ties.size() > 1 && TiesIf(path, size + 1).empty()) {
      std::ranges::stable_sort(ties, {}, [&](const std::string& tie) { return SizeAt(tie); });
    }
    covered_.insert(ties.begin(), ties.end());
    symbols_.push_back({NewName(ties.front()), SettingKind::kSize, SizeAt(ties.front()),
                        ties.front(), nullptr, ties});
  }

  std::string NewName(const std::string& path) {
    const size_t member = path.rfind("/Sizes/");
    const std::string tensor = path.substr(0, member);
    const auto slots = TensorSlots(changer_.draft().op);
    const auto slot = std::ranges::find(slots, tensor, &TensorSlot::path);
    std::string name = NameOfDimension(std::stoul(path.substr(member + 7)), slot->desc->rank());
    if (!names_.insert(name).second) name = fmt::format("{}.{}", DisplayName(tensor), name);
    names_.insert(name);
    return name;
  }

  const CaseChanger& changer_;
  std::vector<std::string> paths_;
  std::set<std::string> covered_;
  std::set<std::string> names_;
  std::vector<Setting> symbols_;
};

// Returns whether a field is the number of axes in the next one.
bool CountsAxes(const OperatorDesc& op, size_t field) {
  return op.fields()[field]->kind == FieldKind::kCount && NamesAxes(*op.fields()[field + 1]);
}

// --- lists ---------------------------------------------------------------------------------------

SettingKind KindOf(const PlainValue& plain) {
  constexpr SettingKind kKinds[] = {SettingKind::kBool, SettingKind::kInteger, SettingKind::kScalar,
                                    SettingKind::kEnum};
  return kKinds[plain.value.index()];
}

class SettingList {
 public:
  explicit SettingList(const CaseChanger& changer)
      : changer_(changer), op_(changer.original().op) {}

  std::vector<Setting> All() {
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      AddField(*op_.fields()[i], op_.values()[i]);
      if (CountsAxes(op_, i)) AddAxisCount(*op_.fields()[i], *op_.fields()[i + 1]);
    }
    if (const size_t rank = RankOf(op_); rank > 0) {
      Add(std::string(kRankSetting), SettingKind::kRank, static_cast<int64_t>(rank));
    }
    for (const PlainValue& plain : PlainValuesOf(op_)) {
      Add(PointerTo(plain.path), KindOf(plain), plain.value, plain.path, plain.field);
    }
    AddTypes();
    for (const TensorSlot& slot : TensorSlots(op_)) AddLayout(slot);
    return std::move(settings_);
  }

 private:
  void Add(std::string of, SettingKind kind, SettingValue value, std::string path = {},
           const Field* field = nullptr) {
    settings_.push_back({std::move(of), kind, std::move(value), std::move(path), field, {}});
  }

  void AddField(const Field& field, const FieldValue& value) {
    const std::string name(field.name);
    const bool is_there = !std::holds_alternative<std::monostate>(value);
    if (field.optional) {
      Add(PointerTo(name), SettingKind::kPresence, std::string(is_there ? kPresent : kAbsent), name,
          &field);
    }
    if (const auto* tensors = std::get_if<std::vector<TensorDesc>>(&value)) {
      Add(PointerTo(name), SettingKind::kCount, static_cast<int64_t>(tensors->size()), name,
          &field);
    }
    const auto* activations = std::get_if<std::vector<OperatorDesc>>(&value);
    if (activations == nullptr) return;
    for (size_t i = 0; i < activations->size(); ++i) {
      const bool is_one = field.kind == FieldKind::kActivation;
      const std::string path = is_one ? name : fmt::format("{}/{}", name, i);
      Add(PointerTo(path + std::string(kTypeMember)), SettingKind::kEnum,
          std::string((*activations)[i].name()), path, &field);
    }
  }

  void AddAxisCount(const Field& count, const Field& axes) {
    const std::string of = PointerTo(count.name);
    Add(of, SettingKind::kNumberOfAxes, ValuesIn(op_, of, {}, true).front(), std::string(axes.name),
        &axes);
  }

  // One for each type variable, called like the first tensor that has it.
  void AddTypes() {
    std::set<TypeVariable> seen;
    for (const TensorSlot& slot : TensorSlots(op_)) {
      if (!seen.insert(slot.type).second) continue;
      Add(PointerTo(slot.path + "/DataType"), SettingKind::kType,
          std::string(Name(*slot.desc->data_type)), slot.path, slot.field);
    }
  }

  void AddLayout(const TensorSlot& slot) {
    if (changer_.bounds().packed_only) return;
    Add(PointerTo(slot.path + "/Strides"), SettingKind::kLayout,
        std::string(LayoutNameOf(*slot.desc)), slot.path, slot.field);
  }

  const CaseChanger& changer_;
  const OperatorDesc& op_;
  std::vector<Setting> settings_;
};

// --- values --------------------------------------------------------------------------------------

// One value, or those of all entries of its array.
std::vector<SettingValue> PlainValuesIn(const OperatorDesc& op, const std::string& path,
                                        bool same_rank) {
  const size_t slash = path.rfind('/');
  const bool is_entry = slash != std::string::npos && IsDigit(path[slash + 1]);
  std::vector<SettingValue> values;
  if (same_rank || !is_entry) {
    if (const auto value = ValueAt(op, path)) values.push_back(*value);
    return values;
  }
  const std::string array = path.substr(0, slash + 1);
  for (size_t entry = 0; const auto value = ValueAt(op, array + std::to_string(entry)); ++entry) {
    values.push_back(*value);
  }
  return values;
}

SettingValue CountOrPresenceOf(const FieldValue& value) {
  if (const auto* tensors = std::get_if<std::vector<TensorDesc>>(&value)) {
    return static_cast<int64_t>(tensors->size());
  }
  if (const auto* axes = std::get_if<std::vector<uint32_t>>(&value)) {
    return static_cast<int64_t>(axes->size());
  }
  return std::string(std::holds_alternative<std::monostate>(value) ? kAbsent : kPresent);
}

std::optional<SettingValue> TypeOfActivation(const std::vector<OperatorDesc>& activations,
                                             const std::string& path) {
  if (!path.ends_with(kTypeMember)) return std::nullopt;
  const size_t slash = path.find('/');
  const size_t entry = IsDigit(path[slash + 1]) ? std::stoul(path.substr(slash + 1)) : 0;
  if (entry >= activations.size()) return std::nullopt;
  return std::string(activations[entry].name());
}

std::string_view WithoutRoot(std::string_view of) {
  return of.starts_with(kDescRoot) ? of.substr(kDescRoot.size()) : of;
}

}  // namespace

std::vector<std::string> SizePathsOf(const OperatorDesc& op, std::optional<TensorRole> role) {
  std::vector<std::string> paths;
  for (const TensorSlot& slot : role ? TensorSlots(op, *role) : TensorSlots(op)) {
    for (size_t d = 0; d < slot.desc->rank(); ++d) {
      paths.push_back(fmt::format("{}/Sizes/{}", slot.path, d));
    }
  }
  return paths;
}

std::vector<Setting> SymbolsOf(const CaseChanger& changer) {
  return SymbolFinder(changer).All();
}

std::vector<Setting> DerivedSizesOf(const CaseChanger& changer) {
  const OperatorDesc& op = changer.original().op;
  const std::vector<std::string> stated = SizePathsOf(changer.draft().op);
  std::vector<Setting> sizes;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    for (size_t d = 0; d < slot.desc->rank(); ++d) {
      const std::string path = fmt::format("{}/Sizes/{}", slot.path, d);
      if (std::ranges::find(stated, path) != stated.end()) continue;
      const std::string name =
          fmt::format("{}.{}", DisplayName(slot.path), NameOfDimension(d, slot.desc->rank()));
      sizes.push_back(
          {name, SettingKind::kSize, int64_t{(*slot.desc->sizes)[d]}, path, nullptr, {path}});
    }
  }
  return sizes;
}

std::vector<Setting> SettingsButSizesOf(const CaseChanger& changer) {
  return SettingList(changer).All();
}

std::vector<Setting> SettingsOf(const CaseChanger& changer) {
  std::vector<Setting> settings = SettingsButSizesOf(changer);
  std::vector<Setting> symbols = SymbolsOf(changer);
  settings.insert(settings.end(), symbols.begin(), symbols.end());
  return settings;
}

std::vector<SettingValue> ValuesIn(const OperatorDesc& op, const std::string& of,
                                   const std::vector<std::string>& sizes, bool same_rank) {
  if (of == kRankSetting) return {static_cast<int64_t>(RankOf(op))};
  const std::string path(WithoutRoot(sizes.empty() ? of : sizes.front()));
  if (auto plain = PlainValuesIn(op, path, same_rank); !plain.empty()) return plain;
  for (const TensorSlot& slot : TensorSlots(op)) {
    if (path == slot.path + "/DataType") return {std::string(Name(*slot.desc->data_type))};
    if (path == slot.path + "/Strides") {
      return {std::string(LayoutNameOf(*slot.desc))};
    }
  }
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const std::string_view name = op.fields()[i]->name;
    if (!path.starts_with(name)) continue;
    const FieldValue& value = op.values()[i];
    if (path == name) return {CountOrPresenceOf(CountsAxes(op, i) ? op.values()[i + 1] : value)};
    if (const auto* activations = std::get_if<std::vector<OperatorDesc>>(&value)) {
      if (const auto type = TypeOfActivation(*activations, path)) return {*type};
    }
  }
  return {};
}

std::optional<SettingValue> OtherValueIn(const OperatorDesc& op, const Setting& setting) {
  const std::vector<SettingValue> values = ValuesIn(op, setting.of, setting.ties, true);
  const bool is_other = !values.empty() && values.front() != setting.value;
  return is_other ? std::optional(values.front()) : std::nullopt;
}

// --- values to try -------------------------------------------------------------------------------

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

bool MayBeNegative(const Field* field) {
  return field != nullptr && (field->kind == FieldKind::kInt || field->kind == FieldKind::kInts);
}

std::vector<SettingValue> NumbersToTry(SettingKind kind, bool may_be_negative, bool many) {
  constexpr Range kSizes[] = {{1, 5}, {8, 8}, {15, 17}, {31, 33}, {64, 64}};
  constexpr Range kIntegers[] = {{0, 4}, {8, 8}};
  constexpr Range kOfBothSigns[] = {{-8, -8}, {-4, 4}, {8, 8}};
  constexpr Range kRanks[] = {{1, kMaxRank}};
  constexpr Range kCounts[] = {{1, 5}, {8, 8}};
  constexpr Range kAxisCounts[] = {{0, kMaxRank}};
  constexpr Range kManyOfBothSigns[] = {{-17, 17}, {31, 33}, {63, 65}};
  constexpr Range kMany[] = {{0, 33}, {47, 49}, {63, 65}, {127, 129}, {255, 257}};
  if (kind == SettingKind::kRank) return NumbersOf(kRanks);
  if (kind == SettingKind::kCount) return NumbersOf(kCounts);
  if (kind == SettingKind::kNumberOfAxes) return NumbersOf(kAxisCounts);
  if (may_be_negative) return many ? NumbersOf(kManyOfBothSigns) : NumbersOf(kOfBothSigns);
  if (many) return NumbersOf(kMany);
  if (kind == SettingKind::kSize) return NumbersOf(kSizes);
  return NumbersOf(kIntegers);
}

template <typename List, typename NameOf = std::identity>
std::vector<SettingValue> WordsFrom(const List& list, NameOf name_of = {}) {
  std::vector<SettingValue> words;
  for (const auto& one : list) words.emplace_back(std::string(std::invoke(name_of, one)));
  return words;
}

std::vector<SettingValue> EnumeratorsOf(const Setting& setting) {
  if (setting.field->kind == FieldKind::kEnum) return WordsFrom(setting.field->names.names);
  return WordsFrom(FusableIn(setting.field->host), &OperatorInfo::name);
}

}  // namespace

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
      if (many) return {-2.0, -0.5, 0.5, 2.0, 3.0, 4.0};
      return {DefaultOf({setting.path, setting.field, setting.value}), 0.0, 1.0, -1.0};
    case SettingKind::kEnum:
      return EnumeratorsOf(setting);
    case SettingKind::kLayout:
      return WordsFrom(kLayoutKinds);
    case SettingKind::kType:
      return WordsFrom(TypesFor(op, *setting.field), [](DataType type) { return Name(type); });
    case SettingKind::kValues:
      return {};
    default:
      break;
  }
  std::vector<SettingValue> numbers =
      NumbersToTry(setting.kind, MayBeNegative(setting.field), many);
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
