// SPDX-License-Identifier: Apache-2.0
// The error that an output may have in units of what its operator sums up; see core/judge/units.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/tensor/data_type.h"

namespace dmlop {

struct UnitTolerance {
  enum class Rule {
    kNone,
    kSums,   // as many units as an element has terms
    kNoise,  // what rounded sums make of a whole output: at most 2 sqrt(n) units, n the number of
             // terms, and sqrt(n) / 4 in the median
  };

  double units = 0;
  Rule rule = Rule::kNone;
  DataType sums = DataType::kUnknown;  // the type that sums may be kept in; UNKNOWN: as usual

  bool allows_any() const { return units > 0 || rule != Rule::kNone; }
  std::string word() const;  // "sums=FLOAT16"; empty without a rule
};

// The words for rules: "sums", "sums=FLOAT32", "sums=FLOAT16" and "noise", in any case.
std::optional<UnitTolerance> ParseUnitRule(std::string_view word);

}  // namespace dmlop
