// SPDX-License-Identifier: Apache-2.0
// The error that a tensor may have: of each element, or in units of what its operator sums up; see
// core/judge/units.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/tensor/data_type.h"

namespace dmlop {

// An element passes if any of these admits it: equality of values (NaN equals NaN, -0 equals +0),
// |actual - expected| <= absolute + relative * |expected|, or at most `ulp` units in the last
// place.
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
  uint64_t ulp = 0;
  bool bits = false;  // only equal bits pass
};

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
