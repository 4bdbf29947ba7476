// SPDX-License-Identifier: Apache-2.0
#include "core/compare/tolerances.h"

#include <algorithm>

namespace dmlop {

Tolerance Tolerances::For(DataType type) const {
  Tolerance tolerance = all;
  for (const TypedTolerance& one : typed) {
    if (one.type != type) continue;
    tolerance.absolute = one.absolute.value_or(tolerance.absolute);
    tolerance.relative = one.relative.value_or(tolerance.relative);
    tolerance.ulp = one.ulp.value_or(tolerance.ulp);
  }
  return tolerance;
}

std::optional<double> HeadroomOf(const Comparison& comparison, const Tolerance& tolerance) {
  if (tolerance.bits || comparison.nan_mismatches + comparison.infinity_mismatches > 0) {
    return std::nullopt;
  }
  const bool has_units = comparison.units && comparison.units->has_limits;
  if (tolerance.absolute == 0 && tolerance.relative == 0 && tolerance.ulp == 0 && !has_units) {
    return std::nullopt;
  }
  const double left = 1 - comparison.most_used;
  return comparison.passes() ? std::max(0.0, left) : left;
}

}  // namespace dmlop
