// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/fuzz/studies.h"

namespace dmlop {
namespace {

bool IsWithin(std::string_view pointer, std::string_view other) {
  return pointer == other ||
         (pointer.starts_with(other) && pointer.substr(other.size()).starts_with('/'));
}

class Study {
 public:
  Study(const Computation& smallest, const ValueClasses& classes, const TryAll& run,
        int64_t most_runs, const CaseBounds& bounds)
      : changer_(smallest, bounds),
        settings_(SettingsOf(changer_)),
        classes_(classes),
        runs_(changer_.original().op, classes, run, most_runs, bounds.open) {}

  Conditions Find() {
    for (const Setting& setting : settings_) studied_.push_back({setting, {{setting.value, true}}});
    Vary(/*many=*/false);
    VaryLoneAxes();
    std::ranges::move(StudyClasses(changer_, runs_), std::back_inserter(studied_));
    Vary(/*many=*/true);
    ForgetWhatOthersExplain();
    TakeDerivedSizes();
    Conditions found;
    Relate(found);
    TryEnumeratorsAgain();
    for (const Studied& one : studied_) {
      if (!IsKept(one.setting) && one.is_known()) Tell(one, found);
    }
    found.runs = runs_.count();
    found.text = TextOf(found, TypesThatFail(), NotVaried()) + KeptText(changer_.bounds().kept);
    return found;
  }

 private:
  // A case of which it is to be seen whether it fails.
  struct Trial {
    Studied* studied;
    SettingValue value;
    Computation varied;
  };

  // --- one setting alone -------------------------------------------------------------------------

  // With `many`, tries the numbers of which one has passed.
  void Vary(bool many) {
    std::vector<Trial> trials;
    for (Studied& one : studied_) {
      const bool has_more = one.is_number() || one.setting.kind == SettingKind::kScalar;
      if (many && !(has_more && one.has_passed())) continue;
      std::vector<Trial> own = TrialsOf(changer_, settings_, one, many);
      std::ranges::move(own, std::back_inserter(trials));
    }
    See(trials);
  }

  // Functions that differ in one sign only are the same for each other draw of a single element:
  // enumerators that passed are tried again, with what is left of the runs.
  void TryEnumeratorsAgain() {
    std::vector<Trial> trials;
    for (Studied& one : studied_) {
      if (one.setting.kind != SettingKind::kEnum) continue;
      for (const auto& [value, fails] : one.seen) {
        auto varied = fails ? std::nullopt : Varied(changer_, one.setting, value, classes_);
        if (varied) trials.push_back({&one, value, std::move(*varied)});
      }
    }
    See(trials, kFurtherDraws);
  }

  // Prefers those that leave other settings of the case alone, if there are any.
  std::vector<Trial> TrialsOf(const CaseChanger& changer, const std::vector<Setting>& settings,
                              Studied& one, bool many) {
    std::vector<Trial> alone;
    std::vector<Trial> others;
    for (const SettingValue& value : ValuesToTry(one.setting, changer.original().op, many)) {
      if (one.seen.contains(value)) continue;
      auto varied = Varied(changer, one.setting, value, classes_);
      if (!varied) continue;
      const bool is_alone = LeavesOthers(settings, one.setting, varied->op);
      one.varied.insert_or_assign(value, varied->op);
      (is_alone ? alone : others).push_back({&one, value, std::move(*varied)});
    }
    if (!alone.empty()) one.has_alone = true;
    return one.has_alone ? std::move(alone) : std::move(others);
  }

  // Forgets what passed only since another setting had to change with it, which passes by itself.
  void ForgetWhatOthersExplain() {
    const std::vector<Studied> before = studied_;
    for (Studied& one : studied_) {
      if (one.setting.kind == SettingKind::kSize) continue;
      std::erase_if(one.seen, [&](const auto& seen) {
        const auto varied = one.varied.find(seen.first);
        return !seen.second && varied != one.varied.end() &&
               std::ranges::any_of(before, [&](const Studied& other) {
                 return other.setting.of != one.setting.of &&
                        PassesWithout(other, one.setting, varied->second);
               });
      });
    }
  }

  // Returns whether what was seen passes, too, where the setting has the value of a descriptor, and
  // another one stays as it is.
  static bool PassesWithout(const Studied& studied, const Setting& other, const OperatorDesc& op) {
    const auto value = OtherValueIn(op, studied.setting);
    if (!value) return false;
    const auto seen = studied.seen.find(*value);
    if (seen == studied.seen.end() || seen->second) return false;
    const auto varied = studied.varied.find(*value);
    return varied == studied.varied.end() || !OtherValueIn(varied->second, other);
  }

  void See(std::vector<Trial>& trials, int64_t further_draws = 0) {
    std::vector<Computation> cases;
    for (Trial& trial : trials) cases.push_back(std::move(trial.varied));
    const std::vector<std::optional<bool>> fails = runs_.Fail(cases, further_draws);
    for (size_t i = 0; i < trials.size(); ++i) {
      if (fails[i]) trials[i].studied->seen[trials[i].value] = *fails[i];
      trials[i].studied->is_cut |= runs_.is_spent() && !fails[i];
    }
  }

  // --- axes that have no other value -------------------------------------------------------------

  // An axis has no other value if all dimensions are named: it is varied in a case that has one
  // dimension more, of a size that is there already.
  void VaryLoneAxes() {
    for (Studied& one : studied_) {
      const Field* field = one.setting.field;
      if (field == nullptr || !NamesAxes(*field) || one.has_alone) continue;
      VaryPlaces();
      // A dimension behind all others does not change the number of the axis; one before them does
      // not change its distance from the last one.
      if (!VaryAxis(one, RankOf(changer_.original().op))) VaryAxis(one, 0);
    }
  }

  // Returns false if the case with a dimension more, at this place, does not fail.
  bool VaryAxis(Studied& one, size_t place) {
    const auto larger = WithDimension(place);
    if (!larger || !runs_.Fail({*larger})[0].value_or(false)) return false;
    const CaseChanger changer(*larger, changer_.bounds());
    const std::vector<SettingValue> own = ValuesIn(larger->op, one.setting.of, {}, true);
    if (own.empty()) return true;
    Studied axis{one.setting, {{own[0], true}}};
    axis.setting.value = own[0];
    std::vector<Trial> trials = TrialsOf(changer, SettingsOf(changer), axis, /*many=*/false);
    if (axis.has_alone) See(trials);
    axis.has_alone = true;
    axis.varied.clear();  // of another case
    if (place == 0 && axis.has_passed()) {
      // The numbers are those of the larger case: only the distance from the end is of the smaller.
      const auto failing = std::ranges::count(axis.seen, true, &SeenValues::value_type::second);
      if (failing > 1 || own[0] != SettingValue(LastAxisOf(larger->op))) return true;
      axis.setting.kind = SettingKind::kEnum;
      axis.setting.value = std::string(kLast);
      axis.seen = {{axis.setting.value, true}, {std::string(), false}};
    }
    one = std::move(axis);
    return true;
  }

  // Higher ranks may have passed only since axes moved, or did not: a rank passes if it does so
  // wherever the new dimensions are.
  void VaryPlaces() {
    if (std::exchange(has_varied_places_, true)) return;
    const auto rank = std::ranges::find(studied_, SettingKind::kRank,
                                        [](const Studied& one) { return one.setting.kind; });
    if (rank == studied_.end()) return;
    std::vector<SettingValue> values;
    std::vector<Computation> cases;
    for (const auto& [value, fails] : rank->seen) {
      if (fails || value < rank->setting.value) continue;
      const std::vector<CaseDraft> drafts = DraftsWith(changer_.draft(), rank->setting, value);
      for (size_t k = 0; k < drafts.size(); k += std::max<size_t>(drafts.size() - 1, 1)) {
        auto varied = changer_.Case(drafts[k], classes_);
        if (!varied) continue;
        values.push_back(value);
        cases.push_back(std::move(*varied));
      }
    }
    const std::vector<std::optional<bool>> fails = runs_.Fail(cases);
    for (size_t i = 0; i < values.size(); ++i) rank->seen[values[i]] |= fails[i].value_or(false);
  }

  std::optional<Computation> WithDimension(size_t place) const {
    CaseDraft draft = changer_.draft();
    const size_t rank = RankOf(draft.op);
    draft.InsertDims(place, 1);
    for (const MutableTensorSlot& slot : TensorSlots(draft.op)) {
      if (slot.desc->rank() != rank + 1) continue;
      const size_t beside = place == 0 ? 1 : place - 1;
      draft.Set(fmt::format("{}/Sizes/{}", slot.path, place), (*slot.desc->sizes)[beside]);
    }
    return changer_.Case(draft, classes_);
  }

  // --- two settings together ---------------------------------------------------------------------

  // A relation takes the place of what was seen of the two alone.
  void Relate(Conditions& found) {
    for (size_t i = 0; i < studied_.size(); ++i) {
      for (size_t k = i + 1; k < studied_.size(); ++k) {
        if (i >= studied_.size() || !MayBeRelated(studied_[i], studied_[k])) continue;
        const std::string relation = RelationOf(SeenTogether(studied_[i], studied_[k]));
        if (relation.empty()) continue;
        found.list.push_back({{studied_[i].setting.of, studied_[k].setting.of},
                              ConditionKind::kRelation,
                              {},
                              relation});
        for (const size_t one : {i, k}) TellSizes(studied_[one], found);
        studied_.erase(studied_.begin() + static_cast<std::ptrdiff_t>(k));
        studied_.erase(studied_.begin() + static_cast<std::ptrdiff_t>(i));
        k = i;
      }
    }
  }

  static bool MayBeRelated(const Studied& one, const Studied& other) {
    return one.is_number() && one.setting.kind == other.setting.kind && one.has_passed() &&
           other.has_passed() && !RelationOf(SeenAlone(one, other)).empty();
  }

  static std::vector<SeenPair> SeenAlone(const Studied& one, const Studied& other) {
    std::vector<SeenPair> seen;
    for (const auto& [value, fails] : one.seen) {
      seen.push_back({std::get<int64_t>(value), other.number(), fails});
    }
    for (const auto& [value, fails] : other.seen) {
      seen.push_back({one.number(), std::get<int64_t>(value), fails});
    }
    return seen;
  }

  std::vector<SeenPair> SeenTogether(const Studied& one, const Studied& other) {
    constexpr int64_t kMost = 4;
    const int64_t least = one.setting.kind == SettingKind::kSize ? 1 : 0;
    std::vector<Computation> cases;
    std::vector<SeenPair> pairs;
    for (int64_t first = least; first <= least + kMost; ++first) {
      for (int64_t second = least; second <= least + kMost; ++second) {
        if (first == one.number() || second == other.number()) continue;
        auto both = Together(one.setting, first, other.setting, second);
        if (!both) continue;
        cases.push_back(std::move(*both));
        pairs.push_back({first, second, false});
      }
    }
    const std::vector<std::optional<bool>> fails = runs_.Fail(cases);
    std::vector<SeenPair> seen = SeenAlone(one, other);
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (fails[i]) seen.push_back({pairs[i].first, pairs[i].second, *fails[i]});
    }
    return seen;
  }

  std::optional<Computation> Together(const Setting& one, int64_t first, const Setting& other,
                                      int64_t second) const {
    for (const CaseDraft& begun : DraftsWith(changer_.draft(), one, first)) {
      for (const CaseDraft& draft : DraftsWith(begun, other, second)) {
        if (auto both = changer_.Case(draft, classes_)) return both;
      }
    }
    return std::nullopt;
  }

  // --- sizes of outputs --------------------------------------------------------------------------

  // A failure may hang on a size of an output, as on the width of a convolution's, though only what
  // it follows from can be varied: such a size takes the place of the settings that it follows from
  // if it says by itself, and simply, what was seen of them.
  void TakeDerivedSizes() {
    for (const Setting& size : DerivedSizesOf(changer_)) {
      Studied derived{size, {{size.value, true}}};
      std::set<std::string> passing;
      bool says_all = true;
      for (const Studied& one : studied_) {
        const bool moves_it = std::ranges::any_of(one.varied, [&](const auto& varied) {
          return OtherValueIn(varied.second, size).has_value();
        });
        if (!one.is_number() || !moves_it) continue;
        says_all = says_all && SaysAllOf(one, derived);
        if (one.has_passed()) passing.insert(one.setting.of);
      }
      if (!says_all || passing.size() < 2 || !IsSimple(derived)) continue;
      std::erase_if(studied_, [&](const Studied& one) { return passing.contains(one.setting.of); });
      studied_.push_back(std::move(derived));
    }
  }

  // Sees the sizes of the variations of a setting. Returns false if one of them is unknown, or both
  // fails and passes.
  static bool SaysAllOf(const Studied& one, Studied& derived) {
    return std::ranges::all_of(one.seen, [&](const auto& seen) {
      const auto varied = one.varied.find(seen.first);
      if (varied == one.varied.end()) return true;  // the case itself
      const std::vector<SettingValue> size =
          ValuesIn(varied->second, derived.setting.of, derived.setting.ties, true);
      return size.size() == 1 &&
             derived.seen.emplace(size[0], seen.second).first->second == seen.second;
    });
  }

  static bool IsSimple(const Studied& derived) {
    const Setting& size = derived.setting;
    const auto kind = SimplestCondition(size.kind, size.of, size.value, derived.seen).kind;
    return kind == ConditionKind::kAtLeast || kind == ConditionKind::kAtMost ||
           kind == ConditionKind::kResidue;
  }

  // --- what is told ------------------------------------------------------------------------------

  // Nothing hangs on what was not varied.
  bool IsKept(const Setting& setting) const {
    std::vector<std::string> pointers = {setting.of};
    for (const std::string& tie : setting.ties) pointers.push_back(std::string(kDescRoot) + tie);
    return std::ranges::any_of(changer_.bounds().kept, [&](const DescriptorChange& kept) {
      return std::ranges::any_of(pointers, [&](const std::string& pointer) {
        return IsWithin(pointer, kept.pointer) || IsWithin(kept.pointer, pointer);
      });
    });
  }

  static void Tell(const Studied& one, Conditions& found) {
    const Setting& setting = one.setting;
    found.list.push_back(SimplestCondition(setting.kind, setting.of, setting.value, one.seen));
    TellSizes(one, found);
  }

  static void TellSizes(const Studied& one, Conditions& found) {
    for (const std::string& path : one.setting.ties) {
      found.sizes[one.setting.of].push_back(std::string(kDescRoot) + path);
    }
  }

  // Returns the settings of which nothing is told, as the runs were used up.
  std::vector<std::string> NotVaried() const {
    std::vector<std::string> names;
    for (const Studied& one : studied_) {
      const bool is_told = one.is_known() || one.setting.kind == SettingKind::kValues;
      if (one.is_cut && !is_told && !IsKept(one.setting)) names.push_back(one.setting.of);
    }
    return names;
  }

  FailingTypes TypesThatFail() const {
    FailingTypes types;
    for (const Studied& one : studied_) {
      if (one.setting.kind != SettingKind::kType) continue;
      types.has_others = !types.of.empty();
      if (types.has_others) break;
      types.of = one.setting.of;
      for (const SettingValue& type : ValuesToTry(one.setting, changer_.original().op, false)) {
        const auto seen = one.seen.find(type);
        if (seen != one.seen.end() && seen->second) types.names.push_back(ToText(type));
      }
    }
    return types;
  }

  static constexpr int64_t kFurtherDraws = 6;  // of values for an enumerator

  CaseChanger changer_;
  std::vector<Setting> settings_;
  const ValueClasses& classes_;
  VariedRuns runs_;
  bool has_varied_places_ = false;
  std::vector<Studied> studied_;
};

}  // namespace

Conditions FindConditions(const Computation& smallest, const ValueClasses& classes,
                          const TryAll& run, int64_t most_runs, const CaseBounds& bounds) {
  return Study(smallest, classes, run, most_runs, bounds).Find();
}

}  // namespace dmlop
