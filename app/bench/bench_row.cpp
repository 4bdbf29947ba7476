#include "app/bench/bench_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dmlop {
namespace {

// Beyond these a figure is not to be trusted blindly. Measurements of memory itself differ by a few
// percent on a quiet machine.
constexpr double kMemoryMargin = 1.1;
constexpr double kManyOutliers = 0.1;  // of the samples
constexpr double kWideSpread = 0.1;    // the middle half, of the median
constexpr double kBusyLoad = 0.5;      // of the processors

double SpreadOf(const SampleStatistics& time) {
  return (time.percentile_75 - time.percentile_25) / time.median;
}

bool HasManyOutliers(const BenchRow& row) {
  return static_cast<double>(row.time.outliers) >
         kManyOutliers * static_cast<double>(row.samples.size());
}

}  // namespace

std::string_view Name(CacheState cache) {
  return cache == CacheState::kHot ? "hot" : "cold";
}

std::string KeyOf(const BenchRow& row) {
  return fmt::format("{}/{}/threads:{}", row.name, Name(row.cache), row.threads);
}

std::string TimeText(double seconds) {
  constexpr std::pair<double, std::string_view> kUnits[] = {
      {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  for (const auto& [unit, name] : kUnits) {
    if (seconds >= unit) return fmt::format("{:.4g} {}", seconds / unit, name);
  }
  return fmt::format("{:.3g} ns", seconds * 1e9);
}

SampleStatistics StatisticsOf(const std::vector<Sample>& samples) {
  std::vector<double> seconds;
  for (const Sample& sample : samples) seconds.push_back(sample.seconds);
  return StatisticsOf(seconds);
}

double RateOf(const BenchRow& row) {
  return static_cast<double>(row.traffic.total_bytes()) / row.time.median;
}

double LimitRateOf(const BenchRow& row) {
  return static_cast<double>(row.traffic.total_bytes()) / row.limit_time.median;
}

double ShareOfLimit(const BenchRow& row) {
  return row.limit_time.median / row.time.median;
}

bool IsAsCold(const BenchRow& row) {
  return row.cache == CacheState::kHot || row.limit == Limit::kArithmetic ||
         RateOf(row) <= kMemoryMargin * row.memory_rate;
}

std::vector<std::string> WarningsAbout(const BenchRow& row) {
  std::vector<std::string> warnings;
  if (!IsAsCold(row)) {
    warnings.push_back(fmt::format(
        "is not cold: {:.3g} GB/s are more than memory gives ({:.3g} GB/s), so caches helped that "
        "the system does not report",
        RateOf(row) / 1e9, row.memory_rate / 1e9));
  }
  if (HasManyOutliers(row)) {
    warnings.push_back(fmt::format("has outliers: {} of {} samples, up to {:.2f} times the median",
                                   row.time.outliers, row.samples.size(),
                                   row.time.maximum / row.time.median));
  }
  if (SpreadOf(row.time) > kWideSpread) {
    warnings.push_back(
        fmt::format("is noisy: the middle half of the samples spreads over {:.0f}% of the median",
                    100 * SpreadOf(row.time)));
  }
  if (SpreadOf(row.limit_time) > kWideSpread) {
    warnings.push_back(fmt::format(
        "has a noisy limit: the middle half of its samples spreads over {:.0f}% of the median",
        100 * SpreadOf(row.limit_time)));
  }
  return warnings;
}

bool IsNoisy(const BenchRow& row) {
  return HasManyOutliers(row) || SpreadOf(row.time) > kWideSpread ||
         SpreadOf(row.limit_time) > kWideSpread;
}

std::string AdviceFor(const Machine& machine) {
  if (machine.load_average > kBusyLoad * machine.cpus) {
    return fmt::format("other programs keep the machine busy (load average {:.2f}); end them first",
                       machine.load_average);
  }
  if (!machine.governor.empty() && machine.governor != "performance") {
    return fmt::format("the frequency governor is '{}'; 'performance' gives steadier times",
                       machine.governor);
  }
  return "measure longer with --min-time, or on a quieter machine";
}

}  // namespace dmlop
