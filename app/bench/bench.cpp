#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/bench/bench_baseline.h"
#include "app/bench/bench_case.h"
#include "app/bench/bench_notes.h"
#include "app/bench/bench_progress.h"
#include "app/bench/bench_report.h"
#include "app/bench/bench_ring.h"
#include "app/commands.h"
#include "app/engine.h"
#include "app/files/output.h"
#include "app/timing.h"
#include "core/base/counted.h"
#include "core/base/error.h"
#include "core/base/integer_division.h"
#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

constexpr int kMinSamples = 10;
constexpr int kMaxSamples = 40;
constexpr double kMaxWarmUpSeconds = 0.1;
constexpr double kUnseenSeconds = 0.5;  // shorter calls are not slowed down by a look at them

// Copies are as many as fill the last-level cache so often. Caches that replace at random keep
// something of what is walked through them.
constexpr int64_t kCacheFills = 4;
constexpr int64_t kUsualCacheBytes = int64_t{32} << 20;  // where the system does not say

// Calls the function until it has run long enough to be warm. Returns the seconds of a call.
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
        const std::vector<BenchCase>& cases)
      : options_(options), library_(library), cases_(cases), quiet_(common.quiet) {
    const int64_t known = library.LastLevelCacheBytes();
    cold_bytes_ = kCacheFills * (known > 0 ? known : kUsualCacheBytes);
    threads_ = options.threads;
    if (threads_.empty()) threads_.push_back(ThreadCount());
    if (options.caches != BenchCaches::kCold) caches_.push_back(CacheState::kHot);
    if (options.caches != BenchCaches::kHot) caches_.push_back(CacheState::kCold);
  }

  // One row for each case, number of threads and state of the caches.
  std::vector<BenchRow> Measure() {
    for (const BenchCase& of : cases_) RequireMemoryFor(of);
    for (const BenchCase& of : cases_) {
      OperatorRing ring(of, CopiesOf(OperatorRing::BytesOf(of)));
      const Traffic traffic = ring.traffic();
      const int64_t moved = traffic.total_bytes();
      LimitRing memory(LimitOf(traffic), moved,
                       CopiesOf(LimitRing::BytesOf(LimitOf(traffic), moved)));
      LimitRing arithmetic(Limit::kArithmetic, ring.operations(), 1);
      const bool computes = arithmetic.SecondsOfCall() > memory.SecondsOfCall();
      MeasureCase(of, ring, computes ? arithmetic : memory);
    }
    return std::move(rows_);
  }

 private:
  int64_t CopiesOf(int64_t bytes) const {
    const bool any_cold = options_.caches != BenchCaches::kHot;
    return any_cold ? std::max<int64_t>(1, CeilDiv(cold_bytes_, bytes)) : 1;
  }

  void RequireMemoryFor(const BenchCase& of) const {
    const double machine =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const int64_t bytes = OperatorRing::BytesOf(of);
    const double needed = 2 * static_cast<double>(bytes) * static_cast<double>(CopiesOf(bytes));
    if (needed <= machine) return;
    throw Error(ErrorKind::kFileSystem,
                fmt::format("{}: needs {:.0f} bytes of memory; the machine has {:.0f}", of.name,
                            needed, machine));
  }

  void MeasureCase(const BenchCase& of, OperatorRing& ring, LimitRing& limit) {
    for (const int threads : threads_) {
      SetThreadCount(threads);
      for (const CacheState cache : caches_) {
        RowProgress progress(fmt::format("[{}/{}] {}, {}, {} caches", rows_.size() + 1,
                                         cases_.size() * threads_.size() * caches_.size(), of.name,
                                         Counted(threads, "thread"), Name(cache)),
                             quiet_);
        BenchRow row;
        row.name = of.name;
        row.threads = threads;
        row.cache = cache;
        row.traffic = ring.traffic();
        row.operations = ring.operations();
        row.limit = limit.limit();
        MeasureRow(ring, limit, progress, row);
        rows_.push_back(std::move(row));
      }
    }
  }

  void MeasureRow(OperatorRing& ring, LimitRing& limit, RowProgress& progress, BenchRow& row) {
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
    if (cold) row.memory_rate = limit.MemoryRate();
  }

  const BenchOptions& options_;
  const BenchLibrary& library_;
  const std::vector<BenchCase>& cases_;
  const bool quiet_;
  int64_t cold_bytes_;  // no cache holds as much
  std::vector<int> threads_;
  std::vector<CacheState> caches_;
  std::vector<BenchRow> rows_;
};

BenchFormat FormatFor(const BenchOptions& options) {
  if (options.format) return *options.format;
  const std::string extension = std::filesystem::path(options.output).extension().string();
  if (extension == ".json") return BenchFormat::kJson;
  if (extension == ".csv") return BenchFormat::kCsv;
  if (extension == ".md") return BenchFormat::kMarkdown;
  const bool is_text = extension.empty() || extension == ".txt" || IsDevice(options.output);
  if (is_text) return BenchFormat::kTable;
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: unknown kind of file; the known extensions are .json, .csv, .md and "
                          ".txt, and --format chooses for any other",
                          options.output));
}

std::string Text(const BenchReport& report, BenchFormat format, const BenchLibrary& library,
                 std::optional<size_t> width) {
  switch (format) {
    case BenchFormat::kTable:
      return TableText(report, width);
    case BenchFormat::kJson:
      return JsonText(report, library);
    case BenchFormat::kCsv:
      return CsvText(report);
    case BenchFormat::kMarkdown:
      return MarkdownText(report);
  }
  return "";
}

// The file takes the results in its format; standard output then shows the table.
void PrintReport(const BenchReport& report, const BenchOptions& options,
                 const CommonOptions& common, const BenchLibrary& library) {
  const BenchFormat format = FormatFor(options);
  const std::optional<size_t> width = TerminalWidth(STDOUT_FILENO);
  if (options.output.empty()) return PrintResult(Text(report, format, library, width));
  ResultFile file(options.output, Text(report, format, library, std::nullopt));
  file.Publish();
  if (!common.quiet && !IsDevice(options.output)) PrintResult(TableText(report, width));
}

// Found before the time is spent. Devices take what they are given.
void CheckOutput(const BenchOptions& options) {
  FormatFor(options);
  const std::string& path = options.output;
  if (!path.empty() && !IsDevice(path)) OutputFile(path, 0);
}

void PrintNote(std::string_view text) {
  PrintMessage(fmt::format("dmlop: note: {}\n", Printable(text)));
}

void PrintNotes(const BenchReport& report, const std::optional<Baseline>& baseline) {
  for (const std::string& note : NotesAbout(report)) PrintNote(note);
  if (!baseline) return;
  for (const std::string& warning : WarningsAbout(*baseline, report)) {
    PrintMessage(fmt::format("dmlop: warning: {}\n", Printable(warning)));
  }
}

// Says which rows are slower than they may be, and which only seem to be.
ExitStatus Judge(const BenchReport& report, double fail_over, bool quiet) {
  std::vector<std::string> by_chance, untested;
  bool any = false;
  ExitStatus status = ExitStatus::kSuccess;
  for (const BenchRow& row : report.rows) {
    any |= row.ratio.has_value();
    if (row.ratio && !row.p_value) untested.push_back(KeyOf(row));
    if (!row.ratio || *row.ratio <= 1 + fail_over) continue;
    const std::string p = row.p_value ? fmt::format(" (p = {:.2g})", *row.p_value) : "";
    if (row.p_value && *row.p_value >= kSignificance) {
      by_chance.push_back(fmt::format("{}{}", KeyOf(row), p));
      continue;
    }
    status = ExitStatus::kDifferent;
    PrintMessage(fmt::format(
        "dmlop: {} takes {:.3f} times as long as in the baseline; {:.3f} is allowed{}\n",
        KeyOf(row), *row.ratio, 1 + fail_over, p));
  }
  if (!any) throw Error(ErrorKind::kUsage, "--fail-over: the baseline has none of the rows");
  if (!by_chance.empty() && !quiet) {
    PrintNote(
        fmt::format("by the medians {} would be too slow, but the samples may be so by chance",
                    NameAll(by_chance)));
  }
  if (!untested.empty() && !quiet) {
    PrintNote(fmt::format("{} judged by the median alone: the test needs {} samples in both files",
                          NameAll(untested), kLeastTestedSamples));
  }
  return status;
}

}  // namespace

ExitStatus BenchCommand(const BenchOptions& options, const CommonOptions& common) {
  SetEngine(std::nullopt, options.isa);
  BenchReport report;
  report.machine = DescribeMachine();
  std::optional<Baseline> baseline;
  if (!options.baseline.empty()) {
    baseline = ReadBaseline(options.baseline, report.machine, common);
    if (!baseline) return ExitStatus::kInvalidDocument;
  }
  FileRoles roles;
  roles.Reads(options.baseline, "the baseline");
  std::vector<BenchCase> cases;
  const ExitStatus status = ReadBenchCases(options, common, cases, roles);
  if (status != ExitStatus::kSuccess) return status;
  roles.Writes(options.output, "the results");
  roles.RequireSeparate();
  CheckOutput(options);

  const BenchLibrary& library = LoadBenchLibrary();
  report.rows = Bench(options, common, library, cases).Measure();
  if (baseline) Compare(*baseline, report);
  PrintReport(report, options, common, library);
  if (!common.quiet) PrintNotes(report, baseline);
  if (!options.fail_over) return ExitStatus::kSuccess;
  return Judge(report, *options.fail_over, common.quiet);
}

}  // namespace dmlop
