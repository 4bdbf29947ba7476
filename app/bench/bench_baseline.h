// SPDX-License-Identifier: Apache-2.0
// An earlier result of bench, for comparison.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/bench_row.h"
#include "app/options/options.h"

namespace dmlop {

// A row of the baseline, in seconds.
struct BaselineRow {
  std::string descriptor;  // the operator's
  double median = 0;       // 0 if it has none
  std::vector<double> samples;
};

struct Baseline {
  std::string file;
  std::string isa;
  std::map<std::string, BaselineRow> rows;   // by their keys; all have medians
  std::map<std::string, std::string> pairs;  // by keys of the plan's rows

  // Finds for each row of the plan a row of the baseline with an equal descriptor, the same number
  // of threads and the same cache state. Names only decide between several such rows.
  void Pair(const BenchPlan& plan);
};

// A row with a smaller p value has changed, as in Google Benchmark's compare.py.
inline constexpr double kSignificance = 0.05;

// With fewer samples on either side, no p value is computed.
inline constexpr size_t kLeastTestedSamples = 9;

// Reads JSON that bench wrote on this machine. Prints faults; null if there are any.
std::optional<Baseline> ReadBaseline(const std::string& file, const Machine& machine,
                                     const CommonOptions& common);

// Sets the ratio of a row with an equal in the baseline, and its p value if there are samples.
void Compare(const Baseline& baseline, BenchRow& row);

// Warns of rows without an equal or with one of another name, and of what else affects the ratios.
std::vector<std::string> WarningsAbout(const Baseline& baseline, const BenchPlan& plan);

}  // namespace dmlop
