// SPDX-License-Identifier: Apache-2.0
// What a failure hangs on besides the settings that are varied: classes of values, and sizes that
// follow from others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fuzz/conditions.h"
#include "core/fuzz/setting.h"
#include "core/fuzz/varied_runs.h"

namespace dmlop {

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
  // Whether the setting has passed, and only where the size is another one.
  bool MayHangOn(const std::vector<Seen>& seen, size_t i) const;

  std::vector<Setting> sizes_;
  std::map<std::string, std::vector<Seen>> seen_;  // by setting
};

}  // namespace dmlop
