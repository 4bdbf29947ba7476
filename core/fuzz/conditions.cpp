// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/conditions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/fuzz/setting.h"

namespace dmlop {
namespace {

// How often values are drawn for a case before it counts as one that passes.
constexpr int64_t kFewestDraws = 2;
constexpr int64_t kMostDraws = 16;
constexpr int64_t kSamples = 8;  // draws of the smallest case

// Returns how often to draw so that hardly any case passes which fails as often as the samples did,
// or somewhat less often.
int64_t DrawsFor(int64_t failing, int64_t samples) {
  constexpr double kRisk = 0.01;
  if (failing == 0 || failing == samples) return kFewestDraws;
  const auto sure = static_cast<double>(std::max<int64_t>(failing - 2, 1));
  const double draws = std::log(kRisk) / std::log(1 - sure / static_cast<double>(samples));
  return std::clamp(static_cast<int64_t>(std::ceil(draws)), kFewestDraws, kMostDraws);
}

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
  bool is_cut = false;     // some values were not tried, as the runs were used up
  std::map<SettingValue, std::vector<SettingAt>> beside{};  // what each value changed besides

  bool is_number() const {
    return setting.kind == SettingKind::kSize || setting.kind == SettingKind::kInteger;
  }
  bool is_known() const { return seen.size() > 1 && (!is_cut || has_passed()); }
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
        drawn_(classes),
        run_(run),
        most_runs_(most_runs) {}

  Conditions Find() {
    for (const Setting& setting : settings_) studied_.push_back({setting, {{setting.value, true}}});
    ChooseDraws();
    Vary(/*many=*/false);
    VaryValues();
    Vary(/*many=*/true);
    ForgetWhatOthersExplain();
    Conditions found;
    Relate(found);
    for (const Studied& one : studied_) {
      if (!IsKept(one.setting) && one.is_known()) Tell(one, found);
    }
    found.runs = runs_;
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

  // --- runs --------------------------------------------------------------------------------------

  // Returns the results as far as runs are left.
  std::vector<TryResult> Run(std::vector<Computation> cases) {
    const auto left = static_cast<size_t>(most_runs_ - runs_);
    if (cases.size() > left) {
      is_spent_ = true;
      cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(left), cases.end());
    }
    if (cases.empty()) return {};
    runs_ += static_cast<int64_t>(cases.size());
    return run_(cases, TryUntil::kEnd);
  }

  // Draws the values of variations from the class with which the smallest case fails most often: of
  // a fault that depends on signs or on rounding, a draw shows only a part.
  void ChooseDraws() {
    const int64_t samples = std::min(kSamples, most_runs_ / 16);
    int64_t most = 0;
    for (const ValueClasses& classes : {ValueClasses(), classes_}) {
      if (most == samples) return;
      const int64_t failing = FailuresOf(classes, samples);
      if (failing <= most) continue;
      most = failing;
      drawn_ = classes;
      draws_ = DrawsFor(failing, samples);
    }
  }

  int64_t FailuresOf(const ValueClasses& classes, int64_t samples) {
    std::vector<Computation> cases;
    for (int64_t draw = 1; draw <= samples; ++draw) {
      auto one = Drawn(changer_.original().op, classes, draw);
      if (one) cases.push_back(std::move(*one));
    }
    return std::ranges::count(Run(std::move(cases)), TryResult::kFails);
  }

  std::optional<Computation> Drawn(const OperatorDesc& op, const ValueClasses& classes,
                                   int64_t draw) const {
    return DrawInputs(op, classes, static_cast<uint64_t>(draw), changer_.bounds().open);
  }

  // Returns whether each of the cases fails, with its own values or drawn ones; nothing if it is
  // not supported, or not known.
  std::vector<std::optional<bool>> Fail(const std::vector<Computation>& cases) {
    std::vector<std::optional<bool>> fails(cases.size());
    std::vector<size_t> open(cases.size());
    for (size_t i = 0; i < open.size(); ++i) open[i] = i;
    for (int64_t draw = 0; draw <= draws_ && !open.empty(); ++draw) {
      std::vector<Computation> tries;
      std::vector<size_t> tried;
      for (const size_t i : open) {
        // Other draws than the samples, whose signs another sign in a field would turn round.
        auto one =
            draw == 0 ? std::optional(cases[i]) : Drawn(cases[i].op, drawn_, kSamples + draw);
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
      one.beside[value] = ChangedBeside(one.setting, varied->op);
      (is_alone ? alone : others).push_back({&one, value, std::move(*varied)});
    }
    if (!alone.empty()) one.has_alone = true;
    return one.has_alone ? std::move(alone) : std::move(others);
  }

  std::vector<SettingAt> ChangedBeside(const Setting& setting, const OperatorDesc& op) const {
    std::vector<SettingAt> changed;
    for (const Setting& other : settings_) {
      if (other.of == setting.of) continue;
      const std::vector<SettingValue> values = ValuesIn(op, other.of, other.ties, true);
      if (!values.empty() && values.front() != other.value)
        changed.push_back({other.of, values[0]});
    }
    return changed;
  }

  // Forgets what passed only since another setting had to change with it, which passes by itself.
  void ForgetWhatOthersExplain() {
    const std::vector<Studied> before = studied_;
    for (Studied& one : studied_) {
      if (one.setting.kind == SettingKind::kSize) continue;
      std::erase_if(one.seen, [&](const auto& seen) {
        const auto beside = one.beside.find(seen.first);
        return !seen.second && beside != one.beside.end() &&
               std::ranges::any_of(beside->second, [&](const SettingAt& change) {
                 return PassesWithout(before, one.setting.of, change);
               });
      });
    }
  }

  // Whether another setting passes at a value for which the setting `of` stays as it is.
  static bool PassesWithout(const std::vector<Studied>& studied, const std::string& of,
                            const SettingAt& change) {
    return std::ranges::any_of(studied, [&](const Studied& other) {
      const auto seen = other.seen.find(change.value);
      if (other.setting.of != change.of || seen == other.seen.end() || seen->second) return false;
      const auto beside = other.beside.find(change.value);
      return beside == other.beside.end() ||
             std::ranges::find(beside->second, of, &SettingAt::of) == beside->second.end();
    });
  }

  void See(std::vector<Trial>& trials) {
    std::vector<Computation> cases;
    for (Trial& trial : trials) cases.push_back(std::move(trial.varied));
    const std::vector<std::optional<bool>> fails = Fail(cases);
    for (size_t i = 0; i < trials.size(); ++i) {
      if (fails[i]) trials[i].studied->seen[trials[i].value] = *fails[i];
      trials[i].studied->is_cut |= is_spent_ && !fails[i];
    }
  }

  // --- classes of values -------------------------------------------------------------------------

  // An input whose values are to be of a class.
  struct ClassTrial {
    size_t input;
    InputClass value_class;
  };

  // An input alone has values of each class; the class passes if all draws of it do.
  void VaryValues() {
    const OperatorDesc& op = changer_.original().op;
    const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
    std::vector<Studied> inputs;
    std::vector<ClassTrial> trials;
    for (size_t input = 0; input < slots.size(); ++input) {
      inputs.push_back({{std::string(kValuesPrefix) + slots[input].path,
                         SettingKind::kValues,
                         std::string(kAsInCase),
                         slots[input].path,
                         slots[input].field,
                         {}},
                        {{std::string(kAsInCase), true}}});
      for (const auto value_class : ValueClassesOf(op, slots[input], changer_.bounds().open)) {
        trials.push_back({input, value_class});
      }
    }
    SeeClasses(std::move(trials), inputs);
    for (Studied& one : inputs) {
      TakeClassThatFails(one);
      studied_.push_back(std::move(one));
    }
  }

  // Classes are told only of as many draws as show what they would show: they may take half of the
  // runs.
  void SeeClasses(std::vector<ClassTrial> open, std::vector<Studied>& inputs) {
    if (open.empty()) return;
    const int64_t wanted = std::clamp(2 * draws_, int64_t{8}, kMostDraws);
    const int64_t each = most_runs_ / 2 / static_cast<int64_t>(open.size());
    for (int64_t draw = 1; draw <= std::min(wanted, each) && !open.empty(); ++draw) {
      SeeDraw(draw, open, inputs);
    }
    for (const ClassTrial& trial : open) {
      Studied& one = inputs[trial.input];
      if (is_spent_ || 2 * each < wanted) {
        one.is_cut = true;
      } else {
        one.seen[std::string(Name(trial.value_class))] = false;
      }
    }
  }

  // Leaves those open that pass.
  void SeeDraw(int64_t draw, std::vector<ClassTrial>& open, std::vector<Studied>& inputs) {
    std::vector<Computation> cases;
    std::vector<ClassTrial> tried;
    for (const ClassTrial& trial : open) {
      auto one = WithClass(trial, inputs[trial.input].setting.path, draw);
      if (!one) continue;
      cases.push_back(std::move(*one));
      tried.push_back(trial);
    }
    const std::vector<TryResult> results = Run(std::move(cases));
    open.clear();
    for (size_t i = 0; i < tried.size(); ++i) {
      const TryResult result = i < results.size() ? results[i] : TryResult::kPasses;
      if (result == TryResult::kPasses) open.push_back(tried[i]);
      if (result == TryResult::kFails) {
        inputs[tried[i].input].seen[std::string(Name(tried[i].value_class))] = true;
      }
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

  std::optional<Computation> WithClass(const ClassTrial& trial, const std::string& path,
                                       int64_t draw) const {
    const auto drawn = Drawn(changer_.original().op, {{path, trial.value_class}}, draw);
    if (!drawn) return std::nullopt;
    Computation one = changer_.original();
    one.inputs[trial.input] = drawn->inputs[trial.input];
    one.storage.insert(one.storage.end(), drawn->storage.begin(), drawn->storage.end());
    return one;
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

  // What nothing is told of, as the runs were used up.
  std::vector<std::string> NotVaried() const {
    std::vector<std::string> names;
    for (const Studied& one : studied_) {
      const bool is_told = one.is_known() || one.setting.kind == SettingKind::kValues;
      if (one.is_cut && !is_told && !IsKept(one.setting)) names.push_back(one.setting.of);
    }
    return names;
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
  ValueClasses drawn_;  // the classes of the values that are drawn for variations
  int64_t draws_ = kFewestDraws;
  const TryAll& run_;
  int64_t most_runs_;
  int64_t runs_ = 0;
  bool is_spent_ = false;  // some cases were not run
  std::vector<Studied> studied_;
};

}  // namespace

Conditions FindConditions(const Computation& smallest, const ValueClasses& classes,
                          const TryAll& run, int64_t most_runs, const CaseBounds& bounds) {
  return Study(smallest, classes, run, most_runs, bounds).Find();
}

}  // namespace dmlop
