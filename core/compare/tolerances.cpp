#include "core/compare/tolerances.h"

#include <algorithm>
#include <cmath>

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
  std::optional<double> least_used;
  const auto consider = [&](double largest_error, double limit) {
    if (!(limit > 0)) return;
    const double used = std::isinf(limit) ? 0 : largest_error / limit;
    least_used = std::min(used, least_used.value_or(used));
  };
  consider(comparison.max_absolute_error, tolerance.absolute);
  consider(comparison.max_relative_error, tolerance.relative);
  consider(static_cast<double>(comparison.max_ulp_error), static_cast<double>(tolerance.ulp));
  if (!least_used) return std::nullopt;
  return comparison.passes() ? std::max(0.0, 1 - *least_used) : 1 - *least_used;
}

}  // namespace dmlop
