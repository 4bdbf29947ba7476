// An earlier result of bench, to compare with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/bench_row.h"
#include "app/options/options.h"

namespace dmlop {

// Of a row, in seconds.
struct BaselineTimes {
  double median = 0;  // 0: it has none
  std::vector<double> samples;
};

struct Baseline {
  std::string file;
  std::string isa;
  std::map<std::string, BaselineTimes> rows;  // by their keys; all have medians
};

// A p value below this says that a row has changed, as in Google Benchmark's compare.py.
inline constexpr double kSignificance = 0.05;

// Fewer samples on one of the sides say nothing about chance.
inline constexpr size_t kLeastTestedSamples = 9;

// Reads JSON that bench wrote on this machine. Faults are printed; empty where there are any.
std::optional<Baseline> ReadBaseline(const std::string& file, const Machine& machine,
                                     const CommonOptions& common);

// Gives the rows that the baseline has their ratio, and their p value where there are samples.
void Compare(const Baseline& baseline, BenchReport& report);

// What only one of the two has, and what else the ratios depend on.
std::vector<std::string> WarningsAbout(const Baseline& baseline, const BenchReport& report);

}  // namespace dmlop
