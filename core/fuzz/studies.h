// SPDX-License-Identifier: Apache-2.0
// Variations of a failing case, and what is seen of the classes of its values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/fuzz/conditions.h"
#include "core/fuzz/setting.h"
#include "core/fuzz/shrink.h"
#include "core/fuzz/values.h"

namespace dmlop {

// Runs variations of a failing case: each fails if it does so with its own values or with drawn
// ones, as a fault may need values of a kind.
class VariedRuns {
 public:
  // A case counts as one that passes after values have been drawn for it so often.
  static constexpr int64_t kMostDraws = 16;

  // `classes` are those of the values of the smallest case, an operator's call.
  VariedRuns(const OperatorDesc& smallest, const ValueClasses& classes, const TryAll& run,
             int64_t most_runs, bool open);

  int64_t count() const { return count_; }
  int64_t most() const { return most_; }
  int64_t draws() const { return draws_; }     // of values for a case
  bool is_spent() const { return is_spent_; }  // whether some cases were not run

  // Returns the results as far as runs are left.
  std::vector<TryResult> Run(std::vector<Computation> cases);

  std::optional<Computation> Drawn(const OperatorDesc& op, const ValueClasses& classes,
                                   int64_t draw) const;

  // Returns whether each of the cases fails, with its own values or drawn ones, or with so many
  // further draws; nothing if it is not supported, or not known.
  std::vector<std::optional<bool>> Fail(const std::vector<Computation>& cases,
                                        int64_t further_draws = 0);

 private:
  void ChooseDraws(const OperatorDesc& smallest, const ValueClasses& classes);
  int64_t FailuresOf(const OperatorDesc& op, const ValueClasses& classes, int64_t samples);

  ValueClasses drawn_;  // the classes of the values that are drawn for variations
  int64_t draws_;
  const TryAll& run_;
  const int64_t most_;
  const bool open_;
  int64_t count_ = 0;
  bool is_spent_ = false;
};

// --- settings ------------------------------------------------------------------------------------

// A setting, and what was seen of it.
struct Studied {
  Setting setting;
  SeenValues seen{};
  bool has_alone = false;  // it was varied without a change of others
  bool is_cut = false;     // some values were not tried, as the runs were used up
  std::map<SettingValue, OperatorDesc> varied{};  // the cases with which it was

  bool is_number() const {
    return setting.kind == SettingKind::kSize || setting.kind == SettingKind::kInteger;
  }
  bool is_known() const { return seen.size() > 1 && (!is_cut || has_passed()); }
  bool has_passed() const {
    return std::ranges::any_of(seen, [](const auto& one) { return !one.second; });
  }
  int64_t number() const { return std::get<int64_t>(setting.value); }
};

// Gives one input after another values of each class. A class passes if all its draws do.
std::vector<Studied> StudyClasses(const CaseChanger& changer, VariedRuns& runs);

}  // namespace dmlop
