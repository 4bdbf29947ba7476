// An earlier result of bench, to compare with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/bench_row.h"
#include "app/options/options.h"

namespace dmlop {

// A row of it, in seconds.
struct BaselineRow {
  std::string descriptor;  // of its operator
  double median = 0;       // 0: it has none
  std::vector<double> samples;
};

struct Baseline {
  std::string file;
  std::string isa;
  std::map<std::string, BaselineRow> rows;   // by their keys; all have medians
  std::map<std::string, std::string> pairs;  // rows of the plan with equal ones of these, by keys

  // Finds for each row of the plan one that measured the same: an equal descriptor with as many
  // threads and the same caches. Names decide between several of them only.
  void Pair(const BenchPlan& plan);
};

// A p value below this says that a row has changed, as in Google Benchmark's compare.py.
inline constexpr double kSignificance = 0.05;

// Fewer samples on one of the sides say nothing about chance.
inline constexpr size_t kLeastTestedSamples = 9;

// Reads JSON that bench wrote on this machine. Faults are printed; empty where there are any.
std::optional<Baseline> ReadBaseline(const std::string& file, const Machine& machine,
                                     const CommonOptions& common);

// Gives a row that has an equal in the baseline its ratio, and its p value where there are samples.
void Compare(const Baseline& baseline, BenchRow& row);

// Which rows have no equal, or one of another name, and what else the ratios depend on.
std::vector<std::string> WarningsAbout(const Baseline& baseline, const BenchPlan& plan);

}  // namespace dmlop
