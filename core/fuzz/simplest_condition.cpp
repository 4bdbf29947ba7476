// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/simplest_condition.h"

#include <algorithm>

namespace dmlop {
namespace {

constexpr size_t kMostListed = 3;  // numbers in a list

class SimplestOf {
 public:
  SimplestOf(SettingKind kind, const SettingValue& value, const SeenValues& seen)
      : kind_(kind), value_(value) {
    for (const auto& [one, fails] : seen) (fails ? failed_ : passed_).push_back(one);
    if (kind == SettingKind::kType) std::ranges::sort(failed_, {}, NumberOfType);
  }

  Condition Find() const {
    if (passed_.empty()) return {{}, ConditionKind::kAny};
    if (failed_.size() == 1) return {{}, ConditionKind::kOnly, {value_}};
    if (!IsNumber() || (IsScalar() && passed_.size() == 1)) return List();
    if (passed_.back() < failed_.front()) return {{}, ConditionKind::kAtLeast, {failed_.front()}};
    if (failed_.back() < passed_.front()) return {{}, ConditionKind::kAtMost, {failed_.back()}};
    if (IsScalar()) return List();
    for (int64_t modulus = 2; modulus <= 64; ++modulus) {
      const int64_t residue = Number(value_) % modulus;
      if (IsResidue(modulus, residue)) return {{}, ConditionKind::kResidue, {modulus, residue}};
    }
    if (std::min(passed_.size(), failed_.size()) <= kMostListed) return List();
    return {{}, ConditionKind::kUnclear, {}, {}, failed_, passed_};
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
    const auto fits = [&](const SettingValue& one) { return Number(one) % modulus == residue; };
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
