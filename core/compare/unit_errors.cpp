// SPDX-License-Identifier: Apache-2.0
#include "core/compare/unit_errors.h"

#include <algorithm>
#include <cmath>

namespace dmlop {

size_t UnitBin(double units) {
  if (units <= 0) return 0;
  constexpr size_t kLast = UnitHistogram().size() - 1;
  if (!(units < 0x1p63)) return kLast;
  return units <= 1 ? 1 : 1 + static_cast<size_t>(std::ceil(std::log2(units)));
}

UnitStatistics StatisticsOf(const UnitErrors& errors) {
  UnitStatistics statistics;
  statistics.most_terms = errors.most_terms;
  statistics.has_limits = !errors.allowed.empty();
  for (const double units : errors.units) ++statistics.histogram[UnitBin(units)];
  std::vector<double> sorted = errors.units;
  const auto rank = [&](double part) {
    const auto last = static_cast<double>(sorted.size() - 1);
    const auto place = sorted.begin() + static_cast<ptrdiff_t>(std::floor(part * last));
    std::nth_element(sorted.begin(), place, sorted.end());
    return *place;
  };
  statistics.median = rank(0.5);
  statistics.p99 = rank(0.99);
  statistics.max = rank(1);
  return statistics;
}

}  // namespace dmlop
