// SPDX-License-Identifier: Apache-2.0
// Timing, and statistics of repeated measurements.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace dmlop {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start);

// Statistics of at least one value. Percentiles are interpolated linearly between neighbours, like
// NumPy's; the deviation is the sample's (n - 1), 0 for a single value.
struct SampleStatistics {
  double median = 0;
  double minimum = 0;
  double mean = 0;
  double deviation = 0;
  double percentile_5 = 0;
  double percentile_25 = 0;
  double percentile_75 = 0;
  double percentile_95 = 0;
  double maximum = 0;
  size_t outliers = 0;  // values with a modified z-score beyond 3.5
};

SampleStatistics StatisticsOf(std::span<const double> values);

// `fraction` is in [0, 1]; `sorted` is in increasing order and not empty.
double Percentile(std::span<const double> sorted, double fraction);

// The two-sided p value of the Mann-Whitney U test: the probability of ranks at least as uneven if
// both sets come from the same distribution. Uses the normal approximation with corrections for
// ties and continuity, as Google Benchmark's compare.py does from 9 samples on. Neither set is
// empty.
double MannWhitneyP(std::span<const double> a, std::span<const double> b);

}  // namespace dmlop
