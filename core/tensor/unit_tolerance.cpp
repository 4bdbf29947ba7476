// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/unit_tolerance.h"

#include "core/base/text.h"

namespace dmlop {

std::string UnitTolerance::word() const {
  if (rule == Rule::kNone) return "";
  if (rule == Rule::kNoise) return "noise";
  return sums == DataType::kUnknown ? "sums" : "sums=" + std::string(Name(sums));
}

std::optional<UnitTolerance> ParseUnitRule(std::string_view word) {
  constexpr UnitTolerance kRules[] = {
      {.rule = UnitTolerance::Rule::kSums},
      {.rule = UnitTolerance::Rule::kSums, .sums = DataType::kFloat32},
      {.rule = UnitTolerance::Rule::kSums, .sums = DataType::kFloat16},
      {.rule = UnitTolerance::Rule::kNoise},
  };
  for (const UnitTolerance& rule : kRules) {
    if (EqualIgnoringCase(rule.word(), word)) return rule;
  }
  return std::nullopt;
}

}  // namespace dmlop
