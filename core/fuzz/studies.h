// SPDX-License-Identifier: Apache-2.0
// Variations of a failing case, and the things that its failure may hang on besides the settings
// that are varied: classes of values, and sizes that follow from others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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
  // How often values are drawn for a case at most before it counts as one that passes.
  static constexpr int64_t kMostDraws = 16;

  // `classes` are those of the values of the smallest case, an operator's call.
  VariedRuns(const OperatorDesc& smallest, const ValueClasses& classes, const TryAll& run,
             int64_t most_runs, bool open);

  int64_t count() const { return count_; }
  int64_t most() const { return most_; }
  int64_t draws() const { return draws_; }     // of values for a case
  bool is_spent() const { return is_spent_; }  // whether some cases were not run

  // Has Run and Fail leave so many runs for later.
  void Keep(int64_t runs) { kept_ = runs; }

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
  int64_t kept_ = 0;
  bool is_spent_ = false;
};

// --- classes of values ---------------------------------------------------------------------------

// The values of an input as a setting, and the classes that were seen of it.
struct StudiedClasses {
  Setting setting;
  SeenValues seen;
  bool is_cut = false;  // some classes were not tried, as the runs were used up
};

// Gives one input after another values of each class. A class passes if all its draws do.
std::vector<StudiedClasses> StudyClasses(const CaseChanger& changer, VariedRuns& runs);

// --- derived sizes -------------------------------------------------------------------------------

// Sizes of outputs that follow from fields and other sizes. A failure may hang on one of them, as
// on the width of a convolution's output, though only what it follows from can be varied.
// A size that says by itself what was seen of several settings.
struct TellingSize {
  Setting size;
  SeenValues seen;
  std::vector<std::string> settings;  // those that it stands for
};

class DerivedSizes {
 public:
  explicit DerivedSizes(const CaseChanger& changer);

  // Notes what became of a variation of the setting `of`.
  void Note(const std::string& of, const OperatorDesc& varied, bool fails);

  // Returns the sizes that say more than the settings they follow from: from a bound on, up to one,
  // or by a residue. Whether it is the size and not a condition on each setting is to be confirmed.
  std::vector<TellingSize> Find() const;

 private:
  struct Seen {
    std::vector<std::optional<int64_t>> sizes;
    bool fails;
  };

  std::optional<TellingSize> TellingAt(size_t i) const;
  // Returns whether the setting has passed, and only where the size is another one.
  bool MayHangOn(const std::vector<Seen>& seen, size_t i) const;

  std::vector<Setting> sizes_;
  std::map<std::string, std::vector<Seen>> seen_;  // by setting
};

}  // namespace dmlop
