// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/studies.h"

#include <cmath>
#include <utility>

namespace dmlop {
namespace {

constexpr int64_t kFewestDraws = 2;
constexpr int64_t kSamples = 8;  // draws of the smallest case

// Returns how often to draw so that hardly any case passes which fails as often as the samples did,
// or somewhat less often.
int64_t DrawsFor(int64_t failing, int64_t samples) {
  constexpr double kRisk = 0.01;
  if (failing == 0 || failing == samples) return kFewestDraws;
  const auto sure = static_cast<double>(std::max<int64_t>(failing - 2, 1));
  const double draws = std::log(kRisk) / std::log(1 - sure / static_cast<double>(samples));
  return std::clamp(static_cast<int64_t>(std::ceil(draws)), kFewestDraws, VariedRuns::kMostDraws);
}

}  // namespace

VariedRuns::VariedRuns(const OperatorDesc& smallest, const ValueClasses& classes, const TryAll& run,
                       int64_t most_runs, bool open)
    : drawn_(classes), draws_(kFewestDraws), run_(run), most_(most_runs), open_(open) {
  ChooseDraws(smallest, classes);
}

// Draws the values of variations from the class with which the smallest case fails most often: of
// a fault that depends on signs or on rounding, a draw shows only a part.
void VariedRuns::ChooseDraws(const OperatorDesc& smallest, const ValueClasses& own) {
  const int64_t samples = std::min(kSamples, most_ / 16);
  int64_t most = 0;
  for (const ValueClasses& classes : {ValueClasses(), own}) {
    if (most == samples) return;
    const int64_t failing = FailuresOf(smallest, classes, samples);
    if (failing <= most) continue;
    most = failing;
    drawn_ = classes;
    draws_ = DrawsFor(failing, samples);
  }
}

int64_t VariedRuns::FailuresOf(const OperatorDesc& op, const ValueClasses& classes,
                               int64_t samples) {
  std::vector<Computation> cases;
  for (int64_t draw = 1; draw <= samples; ++draw) {
    auto one = Drawn(op, classes, draw);
    if (one) cases.push_back(std::move(*one));
  }
  return std::ranges::count(Run(std::move(cases)), TryResult::kFails);
}

std::optional<Computation> VariedRuns::Drawn(const OperatorDesc& op, const ValueClasses& classes,
                                             int64_t draw) const {
  return DrawInputs(op, classes, static_cast<uint64_t>(draw), open_);
}

std::vector<TryResult> VariedRuns::Run(std::vector<Computation> cases) {
  const auto left = static_cast<size_t>(std::max<int64_t>(0, most_ - count_));
  if (cases.size() > left) {
    is_spent_ = true;
    cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(left), cases.end());
  }
  if (cases.empty()) return {};
  count_ += static_cast<int64_t>(cases.size());
  return run_(cases, TryUntil::kEnd);
}

std::vector<std::optional<bool>> VariedRuns::Fail(const std::vector<Computation>& cases,
                                                  int64_t further_draws) {
  std::vector<std::optional<bool>> fails(cases.size());
  std::vector<size_t> open(cases.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = i;
  const int64_t first = further_draws == 0 ? 0 : draws_ + 1;
  for (int64_t draw = first; draw <= draws_ + further_draws && !open.empty(); ++draw) {
    std::vector<Computation> tries;
    std::vector<size_t> tried;
    for (const size_t i : open) {
      // Other draws than the samples, whose signs another sign in a field would turn round.
      auto one = draw == 0 ? std::optional(cases[i]) : Drawn(cases[i].op, drawn_, kSamples + draw);
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

namespace {

class ClassStudy {
 public:
  ClassStudy(const CaseChanger& changer, VariedRuns& runs) : changer_(changer), runs_(runs) {}

  std::vector<Studied> Find() {
    const OperatorDesc& op = changer_.original().op;
    const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
    for (size_t input = 0; input < slots.size(); ++input) {
      inputs_.push_back({{std::string(kValuesPrefix) + slots[input].path,
                          SettingKind::kValues,
                          std::string(kAsInCase),
                          slots[input].path,
                          slots[input].field,
                          {}},
                         {{std::string(kAsInCase), true}}});
      for (const auto value_class : ValueClassesOf(op, slots[input], changer_.bounds().open)) {
        open_.push_back({input, value_class});
      }
    }
    SeeClasses();
    for (Studied& input : inputs_) TakeClassThatFails(input);
    return std::move(inputs_);
  }

 private:
  // An input whose values are to be of a class.
  struct ClassTrial {
    size_t input;
    InputClass value_class;
  };

  // Classes are told only of as many draws as show what they would show: they may take half of the
  // runs.
  void SeeClasses() {
    if (open_.empty()) return;
    const int64_t wanted = std::clamp(2 * runs_.draws(), int64_t{8}, VariedRuns::kMostDraws);
    const int64_t each = runs_.most() / 2 / static_cast<int64_t>(open_.size());
    for (int64_t draw = 1; draw <= std::min(wanted, each) && !open_.empty(); ++draw) SeeDraw(draw);
    for (const ClassTrial& trial : open_) {
      Studied& input = inputs_[trial.input];
      if (runs_.is_spent() || 2 * each < wanted) {
        input.is_cut = true;
      } else {
        input.seen[std::string(Name(trial.value_class))] = false;
      }
    }
  }

  // Leaves those trials open that pass.
  void SeeDraw(int64_t draw) {
    std::vector<Computation> cases;
    std::vector<ClassTrial> tried;
    for (const ClassTrial& trial : open_) {
      auto one = WithClass(trial, draw);
      if (!one) continue;
      cases.push_back(std::move(*one));
      tried.push_back(trial);
    }
    const std::vector<TryResult> results = runs_.Run(std::move(cases));
    open_.clear();
    for (size_t i = 0; i < tried.size(); ++i) {
      const TryResult result = i < results.size() ? results[i] : TryResult::kPasses;
      if (result == TryResult::kPasses) open_.push_back(tried[i]);
      if (result == TryResult::kFails) {
        inputs_[tried[i].input].seen[std::string(Name(tried[i].value_class))] = true;
      }
    }
  }

  // If drawn values fail, theirs are the classes that are told.
  static void TakeClassThatFails(Studied& input) {
    const SettingValue own = std::exchange(input.setting.value, SettingValue());
    for (const auto& [value_class, fails] : input.seen) {
      if (fails && value_class != own) input.setting.value = value_class;
    }
    if (input.setting.value == SettingValue()) {
      input.setting.value = own;
    } else {
      input.seen.erase(own);
    }
  }

  std::optional<Computation> WithClass(const ClassTrial& trial, int64_t draw) const {
    const std::string& path = inputs_[trial.input].setting.path;
    const auto drawn = runs_.Drawn(changer_.original().op, {{path, trial.value_class}}, draw);
    if (!drawn) return std::nullopt;
    Computation one = changer_.original();
    one.inputs[trial.input] = drawn->inputs[trial.input];
    one.storage.insert(one.storage.end(), drawn->storage.begin(), drawn->storage.end());
    return one;
  }

  const CaseChanger& changer_;
  VariedRuns& runs_;
  std::vector<Studied> inputs_;
  std::vector<ClassTrial> open_;  // have passed so far
};

}  // namespace

std::vector<Studied> StudyClasses(const CaseChanger& changer, VariedRuns& runs) {
  return ClassStudy(changer, runs).Find();
}

}  // namespace dmlop
