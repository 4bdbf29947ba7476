// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "core/fuzz/conditions.h"

namespace dmlop {
namespace {

// The form that conditions of a kind have in JSON.
struct KindRow {
  std::string_view name;
  std::vector<const char*> members{};  // one for each value, or for each list of values
  bool has_lists = false;
};

const std::vector<KindRow> kConditionKinds = {
    {"any"},
    {"only", {"value"}},
    {"atLeast", {"value"}},
    {"atMost", {"value"}},
    {"residue", {"modulus", "residue"}},
    {"oneOf", {"values"}, true},
    {"noneOf", {"values"}, true},
    {"relation"},
    {"unclear", {"failed", "passed"}, true},
};

// --- words ---------------------------------------------------------------------------------------

// "StartPadding[1]" for "/desc/StartPadding/1".
std::string ShortName(std::string_view of) {
  if (!of.starts_with(kDescRoot)) return std::string(of);
  std::string name;
  of.remove_prefix(kDescRoot.size());
  while (!of.empty()) {
    const std::string_view part = of.substr(0, of.find('/'));
    of.remove_prefix(std::min(part.size() + 1, of.size()));
    const bool is_number = part.find_first_not_of("0123456789") == part.npos;
    if (name.empty()) {
      name = part;
    } else {
      name += is_number ? fmt::format("[{}]", part) : fmt::format(".{}", part);
    }
  }
  return name;
}

// "1, 2 or 3"
std::string Listed(std::vector<SettingValue> values, std::string_view last) {
  constexpr size_t kMost = 12;
  if (values.size() > kMost) {
    values.erase(values.begin() + kMost / 2, values.end() - 1);
    values.insert(values.end() - 1, std::string("..."));
  }
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += i + 1 == values.size() ? fmt::format(" {} ", last) : ", ";
    text += ToText(values[i]);
  }
  return text;
}

// "StartPadding[1], W and values of BTensor"
std::string NamesOf(const std::vector<std::string>& settings) {
  std::vector<SettingValue> names;
  for (const std::string& of : settings) {
    const bool is_values = of.starts_with(kValuesPrefix);
    names.emplace_back(is_values ? "values of " + of.substr(kValuesPrefix.size()) : ShortName(of));
  }
  return Listed(names, "and");
}

class ConditionWords {
 public:
  // If several types may vary, each is told with its tensor.
  ConditionWords(const Condition& condition, bool names_types)
      : condition_(condition), of_(condition.of.front()), names_types_(names_types) {}

  bool is_type() const { return of_.ends_with("/DataType"); }
  bool is_layout() const {
    return of_.ends_with("Tensor/Strides") || of_.find("Tensors/") != of_.npos;
  }
  bool is_values() const { return of_.starts_with(kValuesPrefix); }

  std::string Text() const {
    const std::vector<SettingValue>& values = condition_.values;
    switch (condition_.kind) {
      case ConditionKind::kAny:
        return "any " + ShortName(of_);
      case ConditionKind::kOnly:
        return Only();
      case ConditionKind::kAtLeast:
        return fmt::format("{} >= {}", ShortName(of_), ToText(values[0]));
      case ConditionKind::kAtMost:
        return fmt::format("{} <= {}", ShortName(of_), ToText(values[0]));
      case ConditionKind::kResidue:
        return fmt::format("{} mod {} = {}", ShortName(of_), ToText(values[0]), ToText(values[1]));
      case ConditionKind::kOneOf:
        return is_lone_type() ? Listed(values, "and") : "only with " + With(Listed(values, "or"));
      case ConditionKind::kNoneOf:
        return "not with " + With(Listed(values, "or"));
      case ConditionKind::kRelation:
        return fmt::format(
            "{} {} {}", ShortName(of_),
            condition_.relation == "multiple" ? "a multiple of" : condition_.relation,
            ShortName(condition_.of[1]));
      case ConditionKind::kUnclear:
        return fmt::format("{} {}, not {}", ShortName(of_), Listed(values, "or"),
                           Listed(condition_.passed, "or"));
    }
    return "";
  }

 private:
  bool is_lone_type() const { return is_type() && !names_types_; }

  std::string Only() const {
    const std::string value = ToText(condition_.values[0]);
    if (value == kPresent) return "only with " + ShortName(of_);
    if (value == kAbsent) return "not with " + ShortName(of_);
    if (is_lone_type()) return "only " + value;
    return "only with " + With(value);
  }

  // "Direction BACKWARD", "BTensor permuted", "BTensor INT8", "values of BTensor NaN"
  std::string With(const std::string& value) const {
    const std::string whole = ShortName(of_);
    std::string_view name = whole;
    if (is_values()) name.remove_prefix(kValuesPrefix.size());
    for (const std::string_view member : {".Strides", ".Type", ".DataType"}) {
      if (name.ends_with(member)) name.remove_suffix(member.size());
    }
    return fmt::format("{}{} {}", is_values() ? "values of " : "", name, value);
  }

  const Condition& condition_;
  const std::string& of_;
  const bool names_types_;
};

// At least 0, also of a negative number.
int64_t ResidueOf(int64_t number, int64_t modulus) {
  const int64_t rest = number % modulus;
  return rest < 0 ? rest + modulus : rest;
}

// --- other cases ---------------------------------------------------------------------------------

bool IsOfLast(const Condition& condition) {
  return condition.kind == ConditionKind::kOnly &&
         condition.values == std::vector{SettingValue(std::string(kLast))};
}

class OtherCase {
 public:
  OtherCase(const Conditions& conditions, const OperatorDesc& smallest, const OperatorDesc& other)
      : conditions_(conditions), other_(other), same_rank_(RankOf(smallest) == RankOf(other)) {}

  bool Meets(const Condition& condition) const {
    const bool is_of_values = condition.of.front().starts_with(kValuesPrefix);
    if (condition.kind == ConditionKind::kAny || is_of_values) return true;
    const std::vector<SettingValue> values = ValuesOf(condition.of.front());
    if (condition.kind == ConditionKind::kRelation) return AreRelated(condition, values);
    if (values.empty()) return condition.kind == ConditionKind::kNoneOf;
    if (IsOfLast(condition)) {
      return std::ranges::find(values, SettingValue(LastAxisOf(other_))) != values.end();
    }
    return std::ranges::any_of(values,
                               [&](const SettingValue& value) { return Fits(condition, value); });
  }

 private:
  std::vector<SettingValue> ValuesOf(const std::string& of) const {
    const auto sizes = conditions_.sizes.find(of);
    return ValuesIn(other_, of,
                    sizes == conditions_.sizes.end() ? std::vector<std::string>() : sizes->second,
                    same_rank_);
  }

  bool AreRelated(const Condition& condition, const std::vector<SettingValue>& first) const {
    const std::vector<SettingValue> second = ValuesOf(condition.of[1]);
    for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
      const auto* a = std::get_if<int64_t>(&first[i]);
      const auto* b = std::get_if<int64_t>(&second[i]);
      if (a != nullptr && b != nullptr && IsRelated(*a, condition.relation, *b)) return true;
    }
    return false;
  }

  static bool Fits(const Condition& condition, const SettingValue& value) {
    const auto has = [&](const std::vector<SettingValue>& list) {
      return std::ranges::find(list, value) != list.end();
    };
    const auto* number = std::get_if<int64_t>(&value);
    switch (condition.kind) {
      case ConditionKind::kOnly:
      case ConditionKind::kOneOf:
        return has(condition.values);
      case ConditionKind::kNoneOf:
        return !has(condition.values);
      case ConditionKind::kAtLeast:
        return value >= condition.values[0];
      case ConditionKind::kAtMost:
        return value <= condition.values[0];
      case ConditionKind::kResidue:
        return number != nullptr && ResidueOf(*number, std::get<int64_t>(condition.values[0])) ==
                                        std::get<int64_t>(condition.values[1]);
      case ConditionKind::kUnclear:
        return !has(condition.passed);
      default:
        return true;
    }
  }

  const Conditions& conditions_;
  const OperatorDesc& other_;
  bool same_rank_;
};

// --- JSON ----------------------------------------------------------------------------------------

Json AsJson(const SettingValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return NumberJson(*number);
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Json AsJson(const std::vector<SettingValue>& values) {
  Json list = Json::array();
  for (const SettingValue& value : values) list.push_back(AsJson(value));
  return list;
}

Json AsJson(const Condition& condition) {
  const KindRow& kind = kConditionKinds[static_cast<size_t>(condition.kind)];
  Json json = {{"of", condition.of}, {"kind", kind.name}};
  if (condition.kind == ConditionKind::kRelation) json["relation"] = condition.relation;
  if (kind.has_lists) json[kind.members[0]] = AsJson(condition.values);
  if (condition.kind == ConditionKind::kUnclear) json[kind.members[1]] = AsJson(condition.passed);
  for (size_t i = 0; !kind.has_lists && i < kind.members.size(); ++i) {
    json[kind.members[i]] = AsJson(condition.values[i]);
  }
  return json;
}

SettingValue ValueFrom(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  return json.get<std::string>();
}

std::vector<SettingValue> ValuesFrom(const Json& list) {
  std::vector<SettingValue> values;
  for (const Json& value : list) values.push_back(ValueFrom(value));
  return values;
}

Condition ConditionFrom(const Json& json) {
  Condition condition{json.at("of").get<std::vector<std::string>>()};
  const auto kind =
      std::ranges::find(kConditionKinds, json.at("kind").get<std::string>(), &KindRow::name);
  if (kind == kConditionKinds.end()) return condition;
  condition.kind = static_cast<ConditionKind>(kind - kConditionKinds.begin());
  condition.relation = json.value("relation", "");
  if (kind->has_lists) {
    condition.values = ValuesFrom(json.at(kind->members[0]));
    if (kind->members.size() > 1) condition.passed = ValuesFrom(json.at(kind->members[1]));
    return condition;
  }
  for (const char* member : kind->members) condition.values.push_back(ValueFrom(json.at(member)));
  return condition;
}

}  // namespace

std::string TextOf(const Conditions& conditions, const FailingTypes& types,
                   const std::vector<std::string>& not_varied) {
  std::string text;
  bool other_field = false;
  bool other_size = false;
  bool other_type = false;
  bool type_is_told = types.names.empty();
  for (const Condition& condition : conditions.list) {
    if (condition.kind == ConditionKind::kAny) continue;
    const ConditionWords words(condition, types.has_others);
    const bool is_size = conditions.sizes.contains(condition.of.front());
    other_size |= is_size;
    other_field |= condition.of.front().starts_with(kDescRoot) && !words.is_type();
    other_type |= words.is_type();
    type_is_told |= condition.of.front() == types.of;
    const std::string told = words.Text();
    const bool stands_alone = told.starts_with("only ") || told.starts_with("not ");
    if (text.empty()) {
      text = (stands_alone ? "fails " : "fails with ") + told;
    } else {
      text += "; " + told;
    }
  }
  if (!not_varied.empty()) {
    return text + (text.empty() ? "not varied: " : "; not varied: ") + NamesOf(not_varied);
  }
  text += text.empty() ? "fails with " : "; ";
  text += other_field ? "any other field" : "any field";
  text += other_size ? ", any other size" : ", any size";
  constexpr size_t kMostTypes = 4;
  if (type_is_told) return text;
  if (types.names.size() > kMostTypes)
    return text + (other_type ? ", any other type" : ", any type");
  return text + ", " + Listed({types.names.begin(), types.names.end()}, "and");
}

std::string KeptText(const std::vector<DescriptorChange>& kept) {
  std::vector<std::string> names;
  for (const DescriptorChange& one : kept) names.push_back(one.pointer);
  return names.empty() ? "" : "; with " + NamesOf(names) + " kept";
}

bool Holds(const Conditions& conditions, const OperatorDesc& smallest, const OperatorDesc& other) {
  const OtherCase with(conditions, smallest, other);
  return std::ranges::all_of(conditions.list,
                             [&](const Condition& one) { return with.Meets(one); });
}

void SetConditions(const Conditions& conditions, Json& finding) {
  Json& list = finding["conditions"] = Json::array();
  for (const Condition& condition : conditions.list) list.push_back(AsJson(condition));
  finding["sizes"] = conditions.sizes;
  finding["text"] = conditions.text;
}

Conditions ConditionsOf(const Json& finding) {
  Conditions conditions;
  if (!finding.contains("conditions")) return conditions;
  for (const Json& one : finding["conditions"]) conditions.list.push_back(ConditionFrom(one));
  if (finding.contains("sizes")) finding["sizes"].get_to(conditions.sizes);
  conditions.text = finding.value("text", "");
  return conditions;
}

// --- the simplest condition ----------------------------------------------------------------------

namespace {

constexpr size_t kMostInList = 3;  // numbers in a list

class SimplestOf {
 public:
  SimplestOf(SettingKind kind, const SettingValue& value, const SeenValues& seen)
      : kind_(kind), value_(value) {
    for (const auto& [one, fails] : seen) (fails ? failed_ : passed_).push_back(one);
    if (kind == SettingKind::kType) std::ranges::sort(failed_, {}, NumberOfType);
  }

  Condition Find() const {
    if (passed_.empty()) return {{}, ConditionKind::kAny};
    // No more axes than dimensions can be tried: of more than the most of these, nothing is known.
    const bool is_most = kind_ == SettingKind::kNumberOfAxes && passed_.back() < failed_.front();
    if (failed_.size() == 1 && !is_most) return {{}, ConditionKind::kOnly, {value_}};
    if (!IsNumber() || (IsScalar() && passed_.size() == 1)) return List();
    if (passed_.back() < failed_.front()) return {{}, ConditionKind::kAtLeast, {failed_.front()}};
    if (failed_.back() < passed_.front()) return {{}, ConditionKind::kAtMost, {failed_.back()}};
    if (IsScalar()) return List();
    for (int64_t modulus = 2; modulus <= 64; ++modulus) {
      const int64_t residue = ResidueOf(Number(value_), modulus);
      if (IsResidue(modulus, residue)) return {{}, ConditionKind::kResidue, {modulus, residue}};
    }
    if (std::min(passed_.size(), failed_.size()) <= kMostInList) return List();
    return {{}, ConditionKind::kUnclear, failed_, "", passed_};
  }

 private:
  static std::ptrdiff_t NumberOfType(const SettingValue& name) {
    const auto names = DataTypeNames();
    return std::ranges::find(names, std::get<std::string>(name)) - names.begin();
  }
  static int64_t Number(const SettingValue& value) { return std::get<int64_t>(value); }
  bool IsScalar() const { return std::holds_alternative<double>(value_); }
  bool IsNumber() const { return IsScalar() || std::holds_alternative<int64_t>(value_); }

  bool IsResidue(int64_t modulus, int64_t residue) const {
    const auto fits = [&](const SettingValue& one) {
      return ResidueOf(Number(one), modulus) == residue;
    };
    return std::ranges::all_of(failed_, fits) && std::ranges::none_of(passed_, fits);
  }

  // The shorter list of the two; types are told as those that fail.
  Condition List() const {
    const bool tells_failed = kind_ == SettingKind::kType || failed_.size() <= passed_.size();
    if (tells_failed) return {{}, ConditionKind::kOneOf, failed_};
    return {{}, ConditionKind::kNoneOf, passed_};
  }

  SettingKind kind_;
  const SettingValue& value_;
  std::vector<SettingValue> failed_;  // in ascending order, as are those that passed
  std::vector<SettingValue> passed_;
};

}  // namespace

Condition SimplestCondition(SettingKind kind, const std::string& of, const SettingValue& value,
                            const SeenValues& seen) {
  Condition condition = SimplestOf(kind, value, seen).Find();
  condition.of = {of};
  return condition;
}

bool IsRelated(int64_t first, const std::string& relation, int64_t second) {
  if (relation == "=") return first == second;
  if (relation == "!=") return first != second;
  if (relation == "<") return first < second;
  if (relation == ">") return first > second;
  return second != 0 && first % second == 0;
}

std::string RelationOf(const std::vector<SeenPair>& seen) {
  for (const std::string relation : {"=", "!=", "<", ">", "multiple"}) {
    const bool fits = std::ranges::all_of(seen, [&](const SeenPair& pair) {
      return IsRelated(pair.first, relation, pair.second) == pair.fails;
    });
    if (fits) return relation;
  }
  return "";
}

}  // namespace dmlop
