// SPDX-License-Identifier: Apache-2.0
// The cases of a batch that differ, grouped by what their devices do otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "app/batch/batch_case.h"

namespace dmlop {

class CauseGroups {
 public:
  // Takes cases in the manifest's order; those without diagnoses belong to no group.
  void Add(const CaseOutcome& outcome);

  // "263 of 312 differ: 101 noise; 72 StartPadding and EndPadding exchanged", then a line with an
  // example of each group, its worst case, the largest group first. Empty if there is none.
  std::string Text(const std::string& manifest, int64_t total) const;

 private:
  struct Group {
    int64_t count = 0;
    std::string text;  // that of the example
    std::string example;
    int64_t line = 0;
    Judgement worst{};
  };

  std::map<std::string, Group> groups_;
};

}  // namespace dmlop
