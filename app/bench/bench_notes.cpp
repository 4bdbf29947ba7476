// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace dmlop {
namespace {

// Beyond these limits a figure gets a note.
constexpr double kManyOutliers = 0.1;   // share of the samples
constexpr double kWideSpread = 0.1;     // interquartile range relative to the median
constexpr double kLeastCpuShare = 0.9;  // a call computes all the time
constexpr double kBusyLoad = 0.5;       // load per CPU

double SpreadOf(const SampleStatistics& time) {
  return (time.percentile_75 - time.percentile_25) / time.median;
}

double WorstSpreadOf(const BenchRow& row) {
  return std::max(SpreadOf(row.time), SpreadOf(row.limit_time));
}

bool HasManyOutliers(const BenchRow& row) {
  return static_cast<double>(row.time.outliers) >
         kManyOutliers * static_cast<double>(row.samples.size());
}

bool IsStarved(const BenchRow& row) {
  return CpuShareOf(row) < kLeastCpuShare;
}

bool IsNoisy(const BenchRow& row) {
  return IsStarved(row) || HasManyOutliers(row) || WorstSpreadOf(row) > kWideSpread;
}

std::string NoiseOf(const BenchRow& row) {
  std::vector<std::string> signs;
  if (SpreadOf(row.time) > kWideSpread) {
    signs.push_back(fmt::format("the middle half of its samples spreads over {:.0f}% of the median",
                                100 * SpreadOf(row.time)));
  }
  if (SpreadOf(row.limit_time) > kWideSpread) {
    signs.push_back(
        fmt::format("the middle half of its limit's over {:.0f}%", 100 * SpreadOf(row.limit_time)));
  }
  if (HasManyOutliers(row)) {
    signs.push_back(fmt::format("{} of {} samples are outliers, up to {:.2f} times the median",
                                row.time.outliers, row.samples.size(),
                                row.time.maximum / row.time.median));
  }
  if (IsStarved(row)) {
    signs.push_back(
        fmt::format("it had a processor for {:.0f}% of the time only", 100 * CpuShareOf(row)));
  }
  return fmt::format("{}", fmt::join(signs, ", "));
}

std::string WarmthOf(const BenchRow& row) {
  return fmt::format(
      "{:.3g} GB/s are more than memory gives ({:.3g} GB/s), so caches helped that the system does "
      "not report",
      RateOf(row) / 1e9, row.memory_rate / 1e9);
}

// Advice for steadier times, as far as the machine and the rows show what disturbs them.
std::string AdviceFor(const Machine& machine, bool any_starved) {
  if (any_starved || machine.load_average > kBusyLoad * machine.cpus) {
    return fmt::format("other programs keep the machine busy (load average {:.2f}); end them first",
                       machine.load_average);
  }
  if (!machine.governor.empty() && machine.governor != "performance") {
    return fmt::format("the frequency governor is '{}'; 'performance' gives steadier times",
                       machine.governor);
  }
  return "measure longer with --min-time, or on a quieter machine";
}

// "KEY is noisy: ...", or a line that counts the rows and names the worst.
std::string NoteAbout(const std::vector<const BenchRow*>& rows, size_t all, std::string_view what,
                      const std::function<double(const BenchRow&)>& badness,
                      const std::function<std::string(const BenchRow&)>& details) {
  const BenchRow& worst = **std::max_element(
      rows.begin(), rows.end(),
      [&](const BenchRow* a, const BenchRow* b) { return badness(*a) < badness(*b); });
  if (rows.size() == 1) return fmt::format("{} is {}: {}", KeyOf(worst), what, details(worst));
  return fmt::format("{} of {} rows are {}, most of all {}: {}", rows.size(), all, what,
                     KeyOf(worst), details(worst));
}

std::vector<const BenchRow*> RowsThat(const BenchReport& report, bool (*is)(const BenchRow&)) {
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : report.rows) {
    if (is(row)) rows.push_back(&row);
  }
  return rows;
}

bool IsWarm(const BenchRow& row) {
  return !IsAsCold(row);
}

}  // namespace

double CpuShareOf(const BenchRow& row) {
  double seconds = 0;
  double cpu_seconds = 0;
  for (const Sample& sample : row.samples) {
    seconds += sample.seconds * static_cast<double>(sample.calls);
    cpu_seconds += sample.cpu_seconds * static_cast<double>(sample.calls);
  }
  return cpu_seconds / seconds;
}

std::vector<std::string> NotesAbout(const BenchReport& report) {
  std::vector<std::string> notes;
  const auto warm = RowsThat(report, IsWarm);
  const auto surplus = [](const BenchRow& row) { return RateOf(row) / row.memory_rate; };
  if (!warm.empty()) {
    notes.push_back(NoteAbout(warm, report.rows.size(), "not cold", surplus, WarmthOf));
  }
  const auto noisy = RowsThat(report, IsNoisy);
  if (!noisy.empty()) {
    const bool any_starved = !RowsThat(report, IsStarved).empty();
    notes.push_back(NoteAbout(noisy, report.rows.size(), "noisy", WorstSpreadOf, NoiseOf) + "; " +
                    AdviceFor(report.plan.machine, any_starved));
  }
  return notes;
}

std::string NameAll(const std::vector<std::string>& keys) {
  return keys.size() == 1 ? keys[0] : fmt::format("{} and {} more", keys[0], keys.size() - 1);
}

}  // namespace dmlop
