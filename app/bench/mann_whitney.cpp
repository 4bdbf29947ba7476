// SPDX-License-Identifier: Apache-2.0
#include "app/bench/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace dmlop {

double MannWhitneyP(std::span<const double> a, std::span<const double> b) {
  std::vector<std::pair<double, bool>> values;  // true: from `a`
  for (const double value : a) values.emplace_back(value, true);
  for (const double value : b) values.emplace_back(value, false);
  std::sort(values.begin(), values.end());

  // Equal values share the mean of their ranks.
  const double total = static_cast<double>(values.size());
  double rank_sum = 0;  // of the values from `a`
  double ties = 0;      // sum of t^3 - t over groups of t equal values
  for (size_t begin = 0; begin < values.size();) {
    size_t end = begin;
    double of_a = 0;
    for (; end < values.size() && values[end].first == values[begin].first; ++end) {
      if (values[end].second) ++of_a;
    }
    rank_sum += of_a * static_cast<double>(begin + end + 1) / 2;
    const double equal = static_cast<double>(end - begin);
    ties += equal * equal * equal - equal;
    begin = end;
  }

  const double of_a = static_cast<double>(a.size());
  const double pairs = of_a * static_cast<double>(b.size());
  const double u = rank_sum - of_a * (of_a + 1) / 2;
  const double variance = pairs / 12 * (total + 1 - ties / (total * (total - 1)));
  const double distance = std::abs(u - pairs / 2) - 0.5;
  if (variance <= 0 || distance <= 0) return 1;
  return std::erfc(distance / std::sqrt(2 * variance));
}

}  // namespace dmlop
