// An earlier result of bench, to compare with.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "app/bench/bench_row.h"
#include "app/options/options.h"

namespace dmlop {

struct Baseline {
  std::string file;
  std::string isa;
  std::map<std::string, double> medians;  // seconds, by the key of the row
};

// Reads JSON that bench wrote on this machine. Faults are printed; empty where there are any.
std::optional<Baseline> ReadBaseline(const std::string& file, const Machine& machine,
                                     const CommonOptions& common);

// Gives the rows that the baseline has their ratio.
void Compare(const Baseline& baseline, BenchReport& report);

// What only one of the two has, and what else the ratios depend on.
std::vector<std::string> WarningsAbout(const Baseline& baseline, const BenchReport& report);

}  // namespace dmlop
