// SPDX-License-Identifier: Apache-2.0
// Finds the classes of values with which a case fails.
#pragma once

#include <vector>

#include "core/fuzz/conditions.h"
#include "core/fuzz/varied_runs.h"

namespace dmlop {

// The values of an input as a setting, and the classes that were seen of it.
struct StudiedClasses {
  Setting setting;
  SeenValues seen;
  bool is_cut = false;  // some classes were not tried, as the runs were used up
};

// Gives one input after another values of each class. A class passes if all its draws do.
std::vector<StudiedClasses> StudyClasses(const CaseChanger& changer, VariedRuns& runs);

}  // namespace dmlop
