// SPDX-License-Identifier: Apache-2.0
// The result of bench: a row for each operator, number of threads and cache state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/bench/bench_library.h"
#include "app/timing.h"
#include "core/ops/pieces.h"

namespace dmlop {

// --- the machine on which bench measures ---------------------------------------------------------

struct Machine {
  std::string cpu_model;
  int cpus = 1;             // that the process may use
  std::string isa;          // instruction set of the kernels
  std::string governor;     // of the CPU frequency; empty if not visible
  double load_average = 0;  // over the last minute
};

Machine DescribeMachine();

// Returns text such as "AMD EPYC, 2 CPUs, avx2; no frequency governor; load average 0.31".
std::string MachineText(const Machine& machine);

// --- rows ----------------------------------------------------------------------------------------

enum class CacheState {
  kHot,   // the tensors are where the last call left them
  kCold,  // the tensors are only in memory
};

struct BenchRow {
  std::string name;        // the case's
  std::string descriptor;  // the operator's, complete, as JSON
  int threads = 1;
  CacheState cache = CacheState::kHot;
  Traffic traffic;         // per call
  int64_t operations = 0;  // multiply-adds per call
  Limit limit = Limit::kCopy;
  std::vector<Sample> samples, limit_samples;  // calls of the limit do as much work
  SampleStatistics time, limit_time;           // seconds per call
  double memory_rate = 0;         // bytes per second beyond the caches; 0 if not measured
  std::optional<double> ratio;    // median relative to the baseline's
  std::optional<double> p_value;  // that both are alike; null with too few samples
};

// An operator to measure.
struct BenchWork {
  std::string name;
  std::string descriptor;
};

// The plan: what is known before the first row is measured.
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
  std::vector<BenchRow> rows;  // those measured so far
};

// The rows of a plan, in order, without measurements.
std::vector<BenchRow> RowsOf(const BenchPlan& plan);

std::string_view Name(CacheState cache);  // "hot", "cold"

// "sum.json/cold/threads:2", as in the JSON; ConditionsOf is the part after the name.
std::string KeyOf(const BenchRow& row);
std::string ConditionsOf(const BenchRow& row);

// Four digits and a suitable unit: "1.234 ms".
std::string TimeText(double seconds);

SampleStatistics StatisticsOf(const std::vector<Sample>& samples);

// Bytes per second, by the medians, and the share of the limit. The rate of an arithmetic limit is
// that of the bytes that come with as many multiply-adds.
double RateOf(const BenchRow& row);
double LimitRateOf(const BenchRow& row);
double ShareOfLimit(const BenchRow& row);

// False for a cold row that was quicker than memory: caches must have helped.
bool IsAsCold(const BenchRow& row);

// --- notes on how rows were measured -------------------------------------------------------------

// CPU time divided by elapsed time of the calls; above 1 with several threads.
double CpuShareOf(const BenchRow& row);

// One line for each cause, however many rows it affects; empty if there is none.
std::vector<std::string> NotesAbout(const BenchReport& report);

// "sum.json/hot/threads:1 and 2 more", for a message about several rows.
std::string NameAll(const std::vector<std::string>& keys);

}  // namespace dmlop
