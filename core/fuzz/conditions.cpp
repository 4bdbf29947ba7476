// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/conditions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/fuzz/setting.h"

namespace dmlop {
namespace {

constexpr uint64_t kDraws = 2;

bool IsWithin(std::string_view pointer, std::string_view other) {
  return pointer == other ||
         (pointer.starts_with(other) && pointer.substr(other.size()).starts_with('/'));
}

struct SettingAt {
  std::string of;
  SettingValue value;
};

// A setting, and what was seen of it.
struct Studied {
  Setting setting;
  SeenValues seen{};
  bool has_alone = false;  // it was varied without a change of others
  std::map<SettingValue, std::vector<SettingAt>> sizes{};  // that each value changed besides

  bool is_number() const {
    return setting.kind == SettingKind::kSize || setting.kind == SettingKind::kInteger;
  }
  bool has_passed() const {
    return std::ranges::any_of(seen, [](const auto& one) { return !one.second; });
  }
  int64_t number() const { return std::get<int64_t>(setting.value); }
};

class Study {
 public:
  Study(const Computation& smallest, const ValueClasses& classes, const TryAll& run,
        int64_t most_runs, const CaseBounds& bounds)
      : changer_(smallest, bounds),
        settings_(SettingsOf(changer_)),
        classes_(classes),
        run_(run),
        most_runs_(most_runs) {}

  Conditions Find() {
    for (const Setting& setting : settings_) studied_.push_back({setting, {{setting.value, true}}});
    Vary(/*many=*/false);
    VaryValues();
    Vary(/*many=*/true);
    ForgetWhatSizesExplain();
    Conditions found;
    Relate(found);
    for (const Studied& one : studied_) {
      if (!IsKept(one.setting)) Tell(one, found);
    }
    found.runs = runs_;
    found.text = TextOf(found, TypesThatFail()) + KeptText(changer_.bounds().kept);
    return found;
  }

 private:
  // A case of which it is to be seen whether it fails.
  struct Trial {
    Studied* studied;
    SettingValue value;
    Computation varied;
  };

  // --- runs --------------------------------------------------------------------------------------

  // Returns the results as far as runs are left.
  std::vector<TryResult> Run(std::vector<Computation> cases) {
    const auto left = static_cast<size_t>(most_runs_ - runs_);
    if (cases.size() > left) {
      cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(left), cases.end());
    }
    if (cases.empty()) return {};
    runs_ += static_cast<int64_t>(cases.size());
    return run_(cases, TryUntil::kEnd);
  }

  // Returns whether each of the cases fails, with its own values or others of their class; nothing
  // if it is not supported, or not known.
  std::vector<std::optional<bool>> Fail(const std::vector<Computation>& cases) {
    std::vector<std::optional<bool>> fails(cases.size());
    std::vector<size_t> open(cases.size());
    for (size_t i = 0; i < open.size(); ++i) open[i] = i;
    for (uint64_t draw = 0; draw <= kDraws && !open.empty(); ++draw) {
      std::vector<Computation> tries;
      std::vector<size_t> tried;
      for (const size_t i : open) {
        auto one = draw == 0 ? std::optional(cases[i])
                             : DrawInputs(cases[i].op, classes_, draw, changer_.bounds().open);
        if (!one) continue;
        tries.push_back(std::move(*one));
        tried.push_back(i);
      }
      const std::vector<TryResult> results = Run(std::move(tries));
      open.clear();
      for (size_t k = 0; k < tried.size(); ++k) {
        std::optional<bool>& result = fails[tried[k]];
        if (k >= results.size() || results[k] == TryResult::kNotSupported) {
          result.reset();
          continue;
        }
        result = results[k] == TryResult::kFails;
        if (!*result) open.push_back(tried[k]);
      }
    }
    return fails;
  }

  // --- one setting alone -------------------------------------------------------------------------

  // With `many`, the numbers of which one has passed.
  void Vary(bool many) {
    std::vector<Trial> trials;
    for (Studied& one : studied_) {
      const bool has_more = one.is_number() || one.setting.kind == SettingKind::kScalar;
      if (many && !(has_more && one.has_passed())) continue;
      std::vector<Trial> own = TrialsOf(one, many);
      std::ranges::move(own, std::back_inserter(trials));
    }
    See(trials);
  }

  // Those that leave other settings alone, if there are any.
  std::vector<Trial> TrialsOf(Studied& one, bool many) {
    std::vector<Trial> alone;
    std::vector<Trial> others;
    for (const SettingValue& value : ValuesToTry(one.setting, changer_.original().op, many)) {
      if (one.seen.contains(value)) continue;
      auto varied = Varied(changer_, one.setting, value, classes_);
      if (!varied) continue;
      const bool is_alone = LeavesOthers(settings_, one.setting, varied->op);
      one.sizes[value] = SizesChangedBeside(one.setting, varied->op);
      (is_alone ? alone : others).push_back({&one, value, std::move(*varied)});
    }
    if (!alone.empty()) one.has_alone = true;
    return one.has_alone ? std::move(alone) : std::move(others);
  }

  std::vector<SettingAt> SizesChangedBeside(const Setting& setting, const OperatorDesc& op) const {
    std::vector<SettingAt> changed;
    for (const Setting& other : settings_) {
      if (other.kind != SettingKind::kSize || other.of == setting.of) continue;
      const std::vector<SettingValue> values = ValuesIn(op, other.of, other.ties, true);
      if (!values.empty() && values.front() != other.value)
        changed.push_back({other.of, values[0]});
    }
    return changed;
  }

  // Forgets what passed only since a size had to change with it, which passes by itself.
  void ForgetWhatSizesExplain() {
    const auto explains = [&](const SettingAt& size) {
      return std::ranges::any_of(studied_, [&](const Studied& other) {
        const auto seen = other.seen.find(size.value);
        return other.setting.of == size.of && seen != other.seen.end() && !seen->second;
      });
    };
    for (Studied& one : studied_) {
      if (one.setting.kind == SettingKind::kSize) continue;
      std::erase_if(one.seen, [&](const auto& seen) {
        const auto sizes = one.sizes.find(seen.first);
        return !seen.second && sizes != one.sizes.end() &&
               std::ranges::any_of(sizes->second, explains);
      });
    }
  }

  void See(std::vector<Trial>& trials) {
    std::vector<Computation> cases;
    for (Trial& trial : trials) cases.push_back(std::move(trial.varied));
    const std::vector<std::optional<bool>> fails = Fail(cases);
    for (size_t i = 0; i < trials.size(); ++i) {
      if (fails[i]) trials[i].studied->seen[trials[i].value] = *fails[i];
    }
  }

  // --- classes of values -------------------------------------------------------------------------

  // An input alone has values of each class; the class passes if all draws of it do.
  void VaryValues() {
    const OperatorDesc& op = changer_.original().op;
    const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
    for (size_t input = 0; input < slots.size(); ++input) {
      Studied one{{std::string(kValuesPrefix) + slots[input].path,
                   SettingKind::kValues,
                   std::string(kAsInCase),
                   slots[input].path,
                   slots[input].field,
                   {}},
                  {{std::string(kAsInCase), true}}};
      for (const auto value_class : ValueClassesOf(op, slots[input], changer_.bounds().open)) {
        const std::vector<TryResult> results =
            Run(WithClass(input, slots[input].path, value_class));
        const auto has = [&](TryResult result) {
          return std::ranges::find(results, result) != results.end();
        };
        if (results.empty() || has(TryResult::kNotSupported)) continue;
        one.seen[std::string(Name(value_class))] = has(TryResult::kFails);
      }
      TakeClassThatFails(one);
      studied_.push_back(std::move(one));
    }
  }

  // If drawn values fail, theirs are the classes that are told.
  static void TakeClassThatFails(Studied& one) {
    const SettingValue own = std::exchange(one.setting.value, SettingValue());
    for (const auto& [value_class, fails] : one.seen) {
      if (fails && value_class != own) one.setting.value = value_class;
    }
    if (one.setting.value == SettingValue()) {
      one.setting.value = own;
    } else {
      one.seen.erase(own);
    }
  }

  template <typename Class>
  std::vector<Computation> WithClass(size_t input, const std::string& path, Class value_class) {
    std::vector<Computation> cases;
    for (uint64_t draw = 1; draw <= kDraws; ++draw) {
      const auto drawn =
          DrawInputs(changer_.original().op, {{path, value_class}}, draw, changer_.bounds().open);
      if (!drawn) continue;
      Computation one = changer_.original();
      one.inputs[input] = drawn->inputs[input];
      one.storage.insert(one.storage.end(), drawn->storage.begin(), drawn->storage.end());
      cases.push_back(std::move(one));
    }
    return cases;
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
    const std::vector<std::optional<bool>> fails = Fail(cases);
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

  // Those of the first tensor.
  std::vector<std::string> TypesThatFail() const {
    std::vector<std::string> types;
    for (const Studied& one : studied_) {
      if (one.setting.kind != SettingKind::kType || !types.empty()) continue;
      for (const SettingValue& type : ValuesToTry(one.setting, changer_.original().op, false)) {
        const auto seen = one.seen.find(type);
        if (seen != one.seen.end() && seen->second) types.push_back(ToText(type));
      }
    }
    return types;
  }

  CaseChanger changer_;
  std::vector<Setting> settings_;
  const ValueClasses& classes_;
  const TryAll& run_;
  int64_t most_runs_;
  int64_t runs_ = 0;
  std::vector<Studied> studied_;
};

}  // namespace

Conditions FindConditions(const Computation& smallest, const ValueClasses& classes,
                          const TryAll& run, int64_t most_runs, const CaseBounds& bounds) {
  return Study(smallest, classes, run, most_runs, bounds).Find();
}

}  // namespace dmlop
