// Google Benchmark, loaded when a command needs it: linked to the program it would take a tenth of
// the start-up time of every other command. It lives in a module of its own, which knows nothing of
// operators (bench_module.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dmlop {

// One measurement: a number of calls, timed together.
struct Sample {
  double seconds = 0;      // of one call
  double cpu_seconds = 0;  // of one call, in all threads of the process
  int64_t calls = 0;
};

// A figure over all samples.
struct Aggregate {
  std::string name;  // "median"
  double value = 0;
  double cpu_value = 0;
  bool is_fraction = false;  // of the mean, not in seconds
};

// What the JSON says about one thing that was measured.
struct JsonEntry {
  std::string name;     // "sum.json"
  std::string variant;  // "hot"
  int threads = 1;
  std::string label;
  std::vector<Sample> samples;
  std::vector<Aggregate> aggregates;
  std::map<std::string, double> counters;  // of every line
};

// For each function the seconds of a call in its samples.
using SamplesSoFar = std::span<const std::vector<double>>;

// Google Benchmark's JSON, part by part.
class JsonWriter {
 public:
  virtual ~JsonWriter() = default;
  virtual std::string Begin() = 0;
  virtual std::string Add(std::span<const JsonEntry> entries) = 0;
  virtual std::string End() = 0;
};

struct BenchLibrary {
  // Takes `count` samples of each function, of at least `sample_seconds`, in an order that mixes
  // them, so that what the machine does meanwhile meets all alike. `watch` is called between them.
  std::vector<std::vector<Sample>> (*Measure)(std::span<const std::function<void()>> functions,
                                              int count, double sample_seconds,
                                              const std::function<void(SamplesSoFar)>& watch);

  // The largest caches of the machine, all of them together, in bytes; 0 if that is not known.
  int64_t (*LastLevelCacheBytes)();

  // One for the process. `context` is added to what it says about the machine, of which the process
  // may use `cpus`.
  std::unique_ptr<JsonWriter> (*NewJson)(int cpus,
                                         const std::map<std::string, std::string>& context);
};

// The module's one symbol: a function that returns its BenchLibrary.
inline constexpr const char* kBenchModule = "dmlop-bench.so";
inline constexpr const char* kBenchLibrarySymbol = "DmlopBenchLibrary";

// Throws an Error of kind kFileSystem where the module cannot be loaded.
const BenchLibrary& LoadBenchLibrary();

}  // namespace dmlop
