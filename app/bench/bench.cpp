// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "app/bench/bench_baseline.h"
#include "app/bench/bench_library.h"
#include "app/bench/bench_report.h"
#include "app/bench/bench_ring.h"
#include "app/bench/bench_row.h"
#include "app/commands.h"
#include "app/files/output.h"
#include "app/text/progress_text.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/document/document_json.h"
#include "core/io/signals.h"

namespace dmlop {
namespace {

// Shows the progress of a row's samples if standard error is a terminal:
//
//  [1/2] sum.json, 2 threads, hot caches: 43%  median 1.234 ms  5.2 GB/s  1 s left
class RowProgress {
 public:
  // `what` names the row, which now warms up. Shows nothing if `quiet`.
  RowProgress(std::string what, bool quiet) : what_(std::move(what)), quiet_(quiet) {
    const size_t width = TerminalWidth(STDERR_FILENO).value_or(0);
    if (!quiet_) ShowProgressLine(ProgressText(what_, {"warming up"}, width, UseUnicode()));
  }

  // Begins sampling: `samples` counts those of all functions; a call of the first moves `bytes`.
  void Begin(size_t samples, int64_t bytes) {
    expected_ = samples;
    bytes_ = bytes;
    start_ = Clock::now();
  }

  void Show(SamplesSoFar samples) {
    done_ = 0;
    for (const std::vector<double>& of_function : samples) done_ += of_function.size();
    if (quiet_) return;
    DrawProgress([&](size_t width) {
      std::vector<std::string> parts = {fmt::format("{}%", 100 * done_ / expected_)};
      if (!samples[0].empty()) {
        const double median = StatisticsOf(samples[0]).median;
        parts.push_back("median " + TimeText(median));
        parts.push_back(fmt::format("{:.1f} GB/s", static_cast<double>(bytes_) / median / 1e9));
      }
      const double seconds = SecondsSince(start_);
      const double left = static_cast<double>(expected_ - done_) / static_cast<double>(done_);
      if (done_ > 0) parts.push_back(TimeLeftText(seconds * left));
      return ProgressText(what_, parts, width, UseUnicode());
    });
  }

  // A name for the current call: the row and its sample.
  std::string NameOfCall() const {
    if (expected_ == 0) return what_ + ", warming up";
    return fmt::format("{}, sample {} of {}", what_, std::min(done_ + 1, expected_), expected_);
  }

 private:
  std::string what_;
  bool quiet_;
  size_t expected_ = 0;
  size_t done_ = 0;
  int64_t bytes_ = 0;
  Clock::time_point start_;
};

constexpr int kMinSamples = 10;
constexpr int kMaxSamples = 40;
constexpr double kMaxWarmUpSeconds = 0.1;
constexpr double kUnseenSeconds = 0.5;  // shorter calls are not shown, which would slow them down

// The copies together fill the last-level cache this many times. Caches with random replacement
// keep some of what is walked through them.
constexpr int64_t kCacheFills = 4;
constexpr int64_t kUsualCacheBytes = int64_t{32} << 20;  // if the system does not report it

// Calls the function until it is warm. Returns the seconds of a call.
double WarmUp(const std::function<void()>& function, double min_seconds) {
  const double enough = std::min(kMaxWarmUpSeconds, min_seconds / 5);
  const Clock::time_point start = Clock::now();
  int calls = 0;
  do {
    function();
    ++calls;
  } while (SecondsSince(start) < enough);
  return SecondsSince(start) / calls;
}

class Bench {
 public:
  Bench(const BenchOptions& options, const CommonOptions& common, const BenchLibrary& library,
        const BenchPlan& plan)
      : options_(options), library_(library), plan_(plan), quiet_(common.quiet) {
    const int64_t known = library.LastLevelCacheBytes();
    cold_bytes_ = kCacheFills * (known > 0 ? known : kUsualCacheBytes);
  }

  // Calls take(row) for each row of the plan, whose operators are those of the cases.
  template <typename Take>
  void Measure(const std::vector<BenchCase>& cases, Take&& take) {
    for (const BenchCase& of : cases) RequireMemoryFor(of);
    const std::vector<BenchRow> rows = RowsOf(plan_);
    const size_t rows_of_case = rows.size() / cases.size();
    for (size_t i = 0; i < cases.size(); ++i) {
      const BenchCase& of = cases[i];
      MakeRoomFor(of);
      OperatorRing ring(of, CopiesOf(OperatorRing::BytesOf(of)), of_operators_);
      const Traffic traffic = ring.traffic();
      const int64_t moved = traffic.total_bytes();
      LimitRing memory(LimitOf(traffic), moved,
                       CopiesOf(LimitRing::BytesOf(LimitOf(traffic), moved)), of_limits_);
      LimitRing arithmetic(Limit::kArithmetic, ring.operations(), 1, of_limits_);
      const bool computes = arithmetic.SecondsOfCall() > memory.SecondsOfCall();
      if (HasColdRows()) memory.FillCaches(static_cast<size_t>(cold_bytes_ / kCacheFills));
      for (size_t row = i * rows_of_case; row < (i + 1) * rows_of_case; ++row) {
        RowProgress progress(NameOf(rows[row], row), quiet_);
        take(MeasureRow(rows[row], ring, computes ? arithmetic : memory, progress));
      }
    }
  }

 private:
  bool HasColdRows() const { return options_.caches != BenchCaches::kHot; }

  int64_t CopiesOf(int64_t bytes) const {
    return HasColdRows() ? std::max<int64_t>(1, CeilDiv(cold_bytes_, bytes)) : 1;
  }

  static double BytesOfMachine() {
    return static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<double>(sysconf(_SC_PAGESIZE));
  }

  // The memory for the rows of the operator and for those of its limit.
  double BytesNeeded(const BenchCase& of) const {
    const int64_t bytes = OperatorRing::BytesOf(of);
    return 2 * static_cast<double>(bytes) * static_cast<double>(CopiesOf(bytes));
  }

  void RequireMemoryFor(const BenchCase& of) const {
    const double needed = BytesNeeded(of);
    if (needed <= BytesOfMachine()) return;
    throw Error(ErrorKind::kFileSystem, "{}: needs {:.0f} bytes of memory; the machine has {:.0f}",
                of.name, needed, BytesOfMachine());
  }

  // Frees what other operators have left where it would take too much beside this one.
  void MakeRoomFor(const BenchCase& of) {
    const auto kept = static_cast<double>(of_operators_.size() + of_limits_.size());
    if (kept + BytesNeeded(of) <= BytesOfMachine()) return;
    of_operators_ = {};
    of_limits_ = {};
  }

  std::string NameOf(const BenchRow& row, size_t number) const {
    return fmt::format("[{}/{}] {}, {}, {} caches", number + 1, plan_.row_count(), row.name,
                       Counted(row.threads, "thread"), Name(row.cache));
  }

  BenchRow MeasureRow(BenchRow row, OperatorRing& ring, LimitRing& limit, RowProgress& progress) {
    SetThreadCount(row.threads);
    row.traffic = ring.traffic();
    row.operations = ring.operations();
    row.limit = limit.limit();
    const bool cold = row.cache == CacheState::kCold;
    bool is_shown = true;  // each call by itself
    const auto run = [&] {
      if (cold) ring.Advance();
      std::optional<Work> work;
      if (is_shown) work.emplace(progress.NameOfCall(), ring.work_bytes());
      ring.Run();
    };
    const auto run_limit = [&] {
      if (cold) limit.Advance();
      limit.Run();
    };
    const std::vector<std::function<void()>> functions = {run, run_limit};
    limit.ChoosePath(cold);
    const double call = WarmUp(run, options_.min_seconds);
    is_shown = call > kUnseenSeconds;
    const int count = static_cast<int>(
        std::clamp(options_.min_seconds / call, 1.0 * kMinSamples, 1.0 * kMaxSamples));
    progress.Begin(functions.size() * static_cast<size_t>(count), row.traffic.total_bytes());
    auto samples = library_.Measure(functions, count, options_.min_seconds / count,
                                    [&](SamplesSoFar so_far) { progress.Show(so_far); });
    row.samples = std::move(samples[0]);
    row.limit_samples = std::move(samples[1]);
    row.time = StatisticsOf(row.samples);
    row.limit_time = StatisticsOf(row.limit_samples);
    if (cold) TakeMemoryRate(limit, row);
    return row;
  }

  // Memory has one rate for all rows, which is measured again where a row seems to exceed it.
  void TakeMemoryRate(LimitRing& limit, BenchRow& row) {
    double& rate = memory_rates_[{row.limit, row.threads}];
    row.memory_rate = rate;
    if (IsAsCold(row)) return;
    rate = std::max(rate, limit.MemoryRate());
    row.memory_rate = rate;
  }

  const BenchOptions& options_;
  const BenchLibrary& library_;
  const BenchPlan& plan_;
  const bool quiet_;
  int64_t cold_bytes_;  // more than any cache holds
  RingMemory of_operators_, of_limits_;
  std::map<std::pair<Limit, int>, double> memory_rates_;  // by threads
};

BenchPlan PlanOf(const BenchOptions& options, const Machine& machine,
                 const std::vector<BenchCase>& cases, bool has_baseline) {
  BenchPlan plan{machine, {}, options.threads, {}, has_baseline};
  for (const BenchCase& of : cases) plan.works.push_back({of.name, OneLine(OperatorJson(of.desc))});
  if (plan.threads.empty()) plan.threads.push_back(SettledThreadCount());
  for (const int threads : plan.threads) SetThreadCount(threads);  // fails early
  if (options.caches != BenchCaches::kCold) plan.caches.push_back(CacheState::kHot);
  if (options.caches != BenchCaches::kHot) plan.caches.push_back(CacheState::kCold);
  return plan;
}

template <typename... Args>
void PrintNote(fmt::format_string<Args...> text, Args&&... args) {
  PrintMessage("dmlop: note: {}\n", Printable(fmt::format(text, std::forward<Args>(args)...)));
}

void PrintWarnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    PrintMessage("dmlop: warning: {}\n", Printable(warning));
  }
}

// Reports which rows are slower than allowed, and which only seem to be.
ExitStatus Judge(const BenchReport& report, double fail_over, bool quiet) {
  std::vector<std::string> by_chance, untested;
  ExitStatus status = ExitStatus::kSuccess;
  for (const BenchRow& row : report.rows) {
    if (row.ratio && !row.p_value) untested.push_back(KeyOf(row));
    if (!row.ratio || *row.ratio <= 1 + fail_over) continue;
    const std::string p = row.p_value ? fmt::format(" (p = {:.2g})", *row.p_value) : "";
    if (row.p_value && *row.p_value >= kSignificance) {
      by_chance.push_back(fmt::format("{}{}", KeyOf(row), p));
      continue;
    }
    status = ExitStatus::kDifferent;
    PrintMessage("dmlop: {} takes {:.3f} times as long as in the baseline; {:.3f} is allowed{}\n",
                 KeyOf(row), *row.ratio, 1 + fail_over, p);
  }
  if (!by_chance.empty() && !quiet) {
    PrintNote("by the medians {} would be too slow, but the samples may be so by chance",
              NameAll(by_chance));
  }
  if (!untested.empty() && !quiet) {
    PrintNote("{} judged by the median alone: the test needs {} samples in both files",
              NameAll(untested), kLeastTestedSamples);
  }
  return status;
}

}  // namespace

ExitStatus BenchCommand(const BenchOptions& options, const CommonOptions& common) {
  std::optional<BenchOutput> output;
  std::atomic<bool> has_output = false;
  const LastWords words([&] {
    if (has_output) output->Interrupt();
  });
  SetEngine(std::nullopt, options.isa);
  const Machine machine = DescribeMachine();
  std::optional<Baseline> baseline;
  if (!options.baseline.empty()) {
    baseline = ReadBaseline(options.baseline, machine, common);
    if (!baseline) return ExitStatus::kInvalidDocument;
  }
  FileRoles roles;
  roles.Reads(options.baseline, "the baseline");
  std::vector<BenchCase> cases;
  const ExitStatus status = ReadBenchCases(options, common, cases, roles);
  if (status != ExitStatus::kSuccess) return status;
  if (cases.empty()) {
    throw Error(ErrorKind::kUsage, "there is no operator to time: the models run none");
  }
  roles.Writes(options.output, "the results");
  roles.RequireSeparate();
  CheckBenchOutput(options);

  BenchReport report{PlanOf(options, machine, cases, baseline.has_value()), {}};
  if (baseline) baseline->Pair(report.plan);
  if (options.fail_over && baseline->pairs.empty()) {
    throw Error(ErrorKind::kUsage, "--fail-over: the baseline has none of the rows");
  }
  const BenchLibrary& library = LoadBenchLibrary();
  output.emplace(options, common, library, report);
  has_output = true;
  Bench(options, common, library, report.plan).Measure(cases, [&](BenchRow row) {
    if (baseline) Compare(*baseline, row);
    output->Add(std::move(row));
  });
  output->End();

  // If a row cannot be judged, that is said even if `quiet`.
  if (baseline && (!common.quiet || options.fail_over)) {
    PrintWarnings(WarningsAbout(*baseline, report.plan));
  }
  if (!common.quiet) {
    for (const std::string& note : NotesAbout(report)) PrintNote("{}", note);
  }
  return options.fail_over ? Judge(report, *options.fail_over, common.quiet) : ExitStatus::kSuccess;
}

}  // namespace dmlop
