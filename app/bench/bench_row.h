// The result of bench: one row for each operator, number of threads and state of the caches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/bench/bench_library.h"
#include "app/bench/bench_machine.h"
#include "app/timing.h"
#include "core/ops/traffic.h"

namespace dmlop {

enum class CacheState {
  kHot,   // the tensors are where the last call left them
  kCold,  // the tensors are in memory only
};

struct BenchRow {
  std::string name;        // of the case
  std::string descriptor;  // the operator's, complete, as JSON
  int threads = 1;
  CacheState cache = CacheState::kHot;
  Traffic traffic;         // of one call
  int64_t operations = 0;  // multiply-adds of one call
  Limit limit = Limit::kCopy;
  std::vector<Sample> samples, limit_samples;  // the limit's calls do as much
  SampleStatistics time, limit_time;           // seconds of a call
  double memory_rate = 0;                      // bytes per second beyond the caches; 0: not asked
  std::optional<double> ratio;                 // of the median to that of the baseline
  std::optional<double> p_value;               // that the two are alike; empty: too few samples
};

// An operator that is measured.
struct BenchWork {
  std::string name;
  std::string descriptor;
};

// What is known before the first row is.
struct BenchPlan {
  Machine machine;
  std::vector<BenchWork> works;
  std::vector<int> threads;
  std::vector<CacheState> caches;
  bool has_baseline = false;

  size_t row_count() const { return works.size() * threads.size() * caches.size(); }
};

struct BenchReport {
  BenchPlan plan;
  std::vector<BenchRow> rows;  // as far as they are measured
};

// The rows of a plan, in order, without what is to be measured.
std::vector<BenchRow> RowsOf(const BenchPlan& plan);

std::string_view Name(CacheState cache);  // "hot", "cold"

// "sum.json/cold/threads:2", as in the JSON; ConditionsOf are what follows the name.
std::string KeyOf(const BenchRow& row);
std::string ConditionsOf(const BenchRow& row);

// Four digits and a unit that suits them: "1.234 ms".
std::string TimeText(double seconds);

SampleStatistics StatisticsOf(const std::vector<Sample>& samples);

// Bytes per second, by the medians, and how much of the limit that is. The rate of a limit of
// arithmetic is that of bytes that come with as many multiply-adds.
double RateOf(const BenchRow& row);
double LimitRateOf(const BenchRow& row);
double ShareOfLimit(const BenchRow& row);

// False for a cold row that was quicker than memory is: caches must have had a part in it.
bool IsAsCold(const BenchRow& row);

}  // namespace dmlop
