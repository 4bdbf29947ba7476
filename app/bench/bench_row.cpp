// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_row.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {
namespace {

// Measurements of memory itself vary by a few percent on a quiet machine.
constexpr double kMemoryMargin = 1.1;

}  // namespace

std::vector<BenchRow> RowsOf(const BenchPlan& plan) {
  std::vector<BenchRow> rows;
  for (const BenchWork& work : plan.works) {
    for (const int threads : plan.threads) {
      for (const CacheState cache : plan.caches) {
        BenchRow& row = rows.emplace_back();
        row.name = work.name;
        row.descriptor = work.descriptor;
        row.threads = threads;
        row.cache = cache;
      }
    }
  }
  return rows;
}

std::string_view Name(CacheState cache) {
  return cache == CacheState::kHot ? "hot" : "cold";
}

std::string KeyOf(const BenchRow& row) {
  return row.name + ConditionsOf(row);
}

std::string ConditionsOf(const BenchRow& row) {
  return fmt::format("/{}/threads:{}", Name(row.cache), row.threads);
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

// --- the machine ---------------------------------------------------------------------------------

namespace {

// The model name that Linux reports, or else the architecture.
std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

std::string Governor() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

Machine DescribeMachine() {
  Machine machine;
  machine.cpu_model = CpuModel();
  machine.cpus = AvailableCores();
  machine.isa = CurrentIsa();
  machine.governor = Governor();
  getloadavg(&machine.load_average, 1);
  return machine;
}

std::string MachineText(const Machine& machine) {
  const std::string governor = machine.governor.empty()
                                   ? "no frequency governor"
                                   : fmt::format("frequency governor {}", machine.governor);
  return fmt::format("{}, {}, {}; {}; load average {:.2f}", machine.cpu_model,
                     Counted(machine.cpus, "CPU"), machine.isa, governor, machine.load_average);
}

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
