// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_row.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "core/base/counted.h"
#include "core/base/parallel.h"
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

}  // namespace dmlop
