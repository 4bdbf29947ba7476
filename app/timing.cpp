// SPDX-License-Identifier: Apache-2.0
#include "app/timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace dmlop {
namespace {

std::vector<double> Sorted(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double SampleDeviation(std::span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Outliers by Iglewicz and Hoaglin (1993): 0.6745 * |x - median| / MAD > 3.5, where MAD is the
// median of |x - median|. Unlike the deviation, neither median is affected by the outliers.
size_t CountOutliers(std::span<const double> values, double median) {
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - median));
  const double limit = 3.5 / 0.6745 * Percentile(Sorted(distances), 0.5);
  return static_cast<size_t>(std::count_if(distances.begin(), distances.end(),
                                           [&](double distance) { return distance > limit; }));
}

}  // namespace

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double Percentile(std::span<const double> sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

SampleStatistics StatisticsOf(std::span<const double> values) {
  const std::vector<double> sorted = Sorted(values);
  SampleStatistics statistics;
  statistics.median = Percentile(sorted, 0.5);
  statistics.minimum = sorted.front();
  statistics.mean = Mean(values);
  statistics.deviation = SampleDeviation(values, statistics.mean);
  statistics.percentile_5 = Percentile(sorted, 0.05);
  statistics.percentile_25 = Percentile(sorted, 0.25);
  statistics.percentile_75 = Percentile(sorted, 0.75);
  statistics.percentile_95 = Percentile(sorted, 0.95);
  statistics.maximum = sorted.back();
  statistics.outliers = CountOutliers(values, statistics.median);
  return statistics;
}

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
