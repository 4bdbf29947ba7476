// SPDX-License-Identifier: Apache-2.0
// The module that contains Google Benchmark.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string_view>
#include <utility>

#include "app/bench/bench_library.h"

namespace dmlop {
namespace {

using Run = benchmark::BenchmarkReporter::Run;
using Clock = std::chrono::steady_clock;

// Google Benchmark has one global state, and takes options only from the command line.
void Initialize() {
  static const bool done = [] {
    static char name[] = "dmlop";  // the library keeps the pointer
    char mix[] = "--benchmark_enable_random_interleaving=true";
    char* arguments[] = {name, mix, nullptr};
    int count = 2;
    benchmark::Initialize(&count, arguments);
    return true;
  }();
  static_cast<void>(done);
}

// Collects the samples of the functions, which are registered under their numbers.
class SampleCollector : public benchmark::BenchmarkReporter {
 public:
  explicit SampleCollector(size_t functions) : samples_(functions) {}

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      const double calls = static_cast<double>(run.iterations);
      samples_[std::stoul(run.run_name.function_name)].push_back(
          {run.real_accumulated_time / calls, run.cpu_accumulated_time / calls, run.iterations});
    }
  }

  std::vector<std::vector<Sample>>& samples() { return samples_; }

 private:
  std::vector<std::vector<Sample>> samples_;
};

// The times that the loops see; the library only reports samples at the end.
class LoopTimes {
 public:
  explicit LoopTimes(size_t functions) : calls_(functions), seconds_(functions) {}

  void Add(size_t function, int64_t calls, Clock::duration time) {
    std::vector<double>& seconds = seconds_[function];
    // Loops with fewer calls were trials to find how many a sample needs.
    if (calls > std::exchange(calls_[function], calls)) seconds.clear();
    seconds.push_back(std::chrono::duration<double>(time).count() / static_cast<double>(calls));
  }

  SamplesSoFar seconds() const { return seconds_; }

 private:
  std::vector<int64_t> calls_;  // of the last loop
  std::vector<std::vector<double>> seconds_;
};

std::vector<std::vector<Sample>> Measure(std::span<const std::function<void()>> functions,
                                         int count, double sample_seconds,
                                         const std::function<void(SamplesSoFar)>& watch) {
  Initialize();
  LoopTimes times(functions.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    const auto loop = [&function = functions[i], &times, &watch, i](benchmark::State& state) {
      function();  // wakes threads, and refills caches after the other functions
      const Clock::time_point start = Clock::now();
      for (auto _ : state) {
        function();
        benchmark::ClobberMemory();
      }
      times.Add(i, state.iterations(), Clock::now() - start);
      watch(times.seconds());
    };
    benchmark::RegisterBenchmark(std::to_string(i).c_str(), loop)
        ->UseRealTime()
        ->MeasureProcessCPUTime()
        ->MinTime(sample_seconds)
        ->Repetitions(count);
  }
  SampleCollector collector(functions.size());
  benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  return std::move(collector.samples());
}

int64_t LastLevelCacheBytes() {
  const benchmark::CPUInfo& cpu = benchmark::CPUInfo::Get();
  int last_level = 0;
  int64_t bytes = 0;
  for (const auto& cache : cpu.caches) {
    if (cache.type == "Instruction" || cache.level < last_level) continue;
    last_level = cache.level;
    bytes = int64_t{cache.size} * std::max(1, cpu.num_cpus / std::max(1, cache.num_sharing));
  }
  return bytes;
}

Run RunOf(const JsonEntry& entry) {
  Run run;
  run.run_name.function_name = entry.name;
  run.run_name.args = entry.variant;
  run.run_name.threads = "threads:" + std::to_string(entry.threads);
  run.family_index = 0;
  run.per_family_instance_index = 0;
  run.report_label = entry.label;
  run.threads = entry.threads;
  run.repetitions = static_cast<int64_t>(entry.samples.size());
  for (const auto& [name, value] : entry.counters) run.counters[name] = value;
  return run;
}

std::vector<Run> RunsOf(const JsonEntry& entry) {
  std::vector<Run> runs;
  for (const Sample& sample : entry.samples) {
    Run& run = runs.emplace_back(RunOf(entry));
    const double calls = static_cast<double>(sample.calls);
    run.run_type = Run::RT_Iteration;
    run.repetition_index = static_cast<int64_t>(runs.size()) - 1;
    run.iterations = sample.calls;
    run.real_accumulated_time = sample.seconds * calls;
    run.cpu_accumulated_time = sample.cpu_seconds * calls;
  }
  for (const Aggregate& aggregate : entry.aggregates) {
    Run& run = runs.emplace_back(RunOf(entry));
    run.run_type = Run::RT_Aggregate;
    run.aggregate_name = aggregate.name;
    run.aggregate_unit = aggregate.is_fraction ? benchmark::kPercentage : benchmark::kTime;
    run.iterations = run.repetitions;
    // The reporter divides times by the number of iterations, but not fractions.
    const double scale = aggregate.is_fraction ? 1 : static_cast<double>(run.iterations);
    run.real_accumulated_time = aggregate.value * scale;
    run.cpu_accumulated_time = aggregate.cpu_value * scale;
  }
  return runs;
}

// The library reports its own build type, but readers take it for that of the measured code.
std::string WithBuildType(std::string text) {
  constexpr std::string_view kKey = "\"library_build_type\": ";
#ifdef NDEBUG
  constexpr std::string_view kOwn = "\"release\"";
#else
  constexpr std::string_view kOwn = "\"debug\"";
#endif
  const size_t at = text.find(kKey);
  if (at == std::string::npos) return text;
  const size_t begin = at + kKey.size();
  return text.replace(begin, text.find_first_of(",\n", begin) - begin, kOwn);
}

class ReporterJson : public JsonWriter {
 public:
  ReporterJson() {
    reporter_.SetOutputStream(&text_);
    reporter_.SetErrorStream(&text_);
  }

  std::string Begin() override {
    reporter_.ReportContext(benchmark::BenchmarkReporter::Context());
    return WithBuildType(Taken());
  }

  std::string Add(std::span<const JsonEntry> entries) override {
    for (const JsonEntry& entry : entries) {
      std::vector<Run> runs = RunsOf(entry);
      for (Run& run : runs) run.family_index = family_;
      reporter_.ReportRuns(runs);
      ++family_;
    }
    return Taken();
  }

  std::string End() override {
    reporter_.Finalize();
    return Taken();
  }

 private:
  std::string Taken() { return std::exchange(text_, std::ostringstream()).str(); }

  std::ostringstream text_;
  benchmark::JSONReporter reporter_;
  int64_t family_ = 0;
};

std::unique_ptr<JsonWriter> NewJson(int cpus, const std::map<std::string, std::string>& context) {
  Initialize();
  // The library counts the machine's CPUs, in an object that it keeps private.
  const_cast<benchmark::CPUInfo&>(benchmark::CPUInfo::Get()).num_cpus = cpus;
  for (const auto& [key, value] : context) benchmark::AddCustomContext(key, value);
  return std::make_unique<ReporterJson>();
}

}  // namespace
}  // namespace dmlop

extern "C" [[gnu::visibility("default")]] const dmlop::BenchLibrary* DmlopBenchLibrary() {
  static constexpr dmlop::BenchLibrary kLibrary = {dmlop::Measure, dmlop::LastLevelCacheBytes,
                                                   dmlop::NewJson};
  return &kLibrary;
}
