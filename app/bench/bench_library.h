// SPDX-License-Identifier: Apache-2.0
// Google Benchmark, loaded on demand: linked to the program, it would take a tenth of the start-up
// time of every other command. It is in a separate module that knows nothing of operators
// (bench_module.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dmlop {

// One measurement: several calls timed together.
struct Sample {
  double seconds = 0;      // per call
  double cpu_seconds = 0;  // per call, in all threads of the process
  int64_t calls = 0;
};

// A statistic over all samples.
struct Aggregate {
  std::string name;  // such as "median"
  double value = 0;
  double cpu_value = 0;
  bool is_fraction = false;  // a fraction of the mean instead of seconds
};

// One measured function as the JSON describes it.
struct JsonEntry {
  std::string name;     // such as "sum.json"
  std::string variant;  // such as "hot"
  int threads = 1;
  std::string label;
  std::vector<Sample> samples;
  std::vector<Aggregate> aggregates;
  std::map<std::string, double> counters;  // on every line
};

// The seconds of a call in each sample, for each function.
using SamplesSoFar = std::span<const std::vector<double>>;

// Writes Google Benchmark's JSON part by part.
class JsonWriter {
 public:
  virtual ~JsonWriter() = default;
  virtual std::string Begin() = 0;
  virtual std::string Add(std::span<const JsonEntry> entries) = 0;
  virtual std::string End() = 0;
};

struct BenchLibrary {
  // Takes `count` samples of each function, each of at least `sample_seconds`, in a mixed order, so
  // that disturbances affect all functions alike. `watch` is called between samples.
  std::vector<std::vector<Sample>> (*Measure)(std::span<const std::function<void()>> functions,
                                              int count, double sample_seconds,
                                              const std::function<void(SamplesSoFar)>& watch);

  // The total size of the last-level caches in bytes; 0 if unknown.
  int64_t (*LastLevelCacheBytes)();

  // To be called once per process. `context` is added to the description of the machine, of whose
  // CPUs the process may use `cpus`.
  std::unique_ptr<JsonWriter> (*NewJson)(int cpus,
                                         const std::map<std::string, std::string>& context);
};

// The module's only symbol: a function that returns its BenchLibrary.
inline constexpr const char* kBenchModule = "dmlop-bench.so";
inline constexpr const char* kBenchLibrarySymbol = "DmlopBenchLibrary";

// Throws an Error of kind kFileSystem if the module cannot be loaded.
const BenchLibrary& LoadBenchLibrary();

}  // namespace dmlop
