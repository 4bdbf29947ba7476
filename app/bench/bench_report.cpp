// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>

#include "app/files/output.h"
#include "app/text/table_text.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/io/output_file.h"

namespace dmlop {
namespace {

std::string GovernorText(const Machine& machine) {
  return machine.governor.empty() ? "none" : machine.governor;
}

std::vector<double> ValuesOf(const std::vector<Sample>& samples, double Sample::*member) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*member);
  return values;
}

// Uses Google Benchmark's names where it has them.
std::vector<Aggregate> AggregatesOf(const std::vector<Sample>& samples) {
  const SampleStatistics real = StatisticsOf(ValuesOf(samples, &Sample::seconds));
  const SampleStatistics cpu = StatisticsOf(ValuesOf(samples, &Sample::cpu_seconds));
  return {{"median", real.median, cpu.median},
          {"min", real.minimum, cpu.minimum},
          {"mean", real.mean, cpu.mean},
          {"stddev", real.deviation, cpu.deviation},
          {"cv", real.deviation / real.mean, cpu.deviation / cpu.mean, /*is_fraction=*/true},
          {"p5", real.percentile_5, cpu.percentile_5},
          {"p25", real.percentile_25, cpu.percentile_25},
          {"p75", real.percentile_75, cpu.percentile_75},
          {"p95", real.percentile_95, cpu.percentile_95},
          {"max", real.maximum, cpu.maximum}};
}

JsonEntry EntryOf(const BenchRow& row) {
  JsonEntry entry{
      row.name,    std::string(Name(row.cache)),
      row.threads, fmt::format("{:.0f}% of {}", 100 * ShareOfLimit(row), Name(row.limit)),
      row.samples, AggregatesOf(row.samples),
      {}};
  entry.counters = {
      {"bytes_read", static_cast<double>(row.traffic.read_bytes)},
      {"bytes_written", static_cast<double>(row.traffic.written_bytes)},
      {"bytes_per_second", RateOf(row)},
      {"limit_bytes_per_second", LimitRateOf(row)},
      {"limit_share", ShareOfLimit(row)},
      {"multiply_adds_per_second", static_cast<double>(row.operations) / row.time.median},
      {"outliers", static_cast<double>(row.time.outliers)}};
  if (row.cache == CacheState::kCold) {
    entry.counters["memory_bytes_per_second"] = row.memory_rate;
    entry.counters["is_cold"] = IsAsCold(row);
  }
  if (row.ratio) entry.counters["ratio_to_baseline"] = *row.ratio;
  if (row.p_value) entry.counters["p_value"] = *row.p_value;
  return entry;
}

JsonEntry LimitEntryOf(const BenchRow& row) {
  return {fmt::format("{}/limit", row.name),
          std::string(Name(row.cache)),
          row.threads,
          std::string(Name(row.limit)),
          row.limit_samples,
          AggregatesOf(row.limit_samples),
          {{"bytes_per_second", LimitRateOf(row)}}};
}

constexpr std::string_view kCsvHeader =
    "name,threads,cache,samples,median_s,min_s,mean_s,stddev_s,p5_s,p25_s,p75_s,p95_s,max_s,"
    "outliers,bytes_read,bytes_written,bytes_per_second,limit,limit_bytes_per_second,"
    "limit_share,multiply_adds,is_cold,ratio_to_baseline,p_value,cpu_model,num_cpus,isa,"
    "governor,load_average\r\n";

std::string OptionalText(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

std::vector<std::string> CsvFields(const BenchRow& row, const Machine& machine) {
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  return {CsvField(row.name),
          text(row.threads),
          text(Name(row.cache)),
          text(row.samples.size()),
          text(row.time.median),
          text(row.time.minimum),
          text(row.time.mean),
          text(row.time.deviation),
          text(row.time.percentile_5),
          text(row.time.percentile_25),
          text(row.time.percentile_75),
          text(row.time.percentile_95),
          text(row.time.maximum),
          text(row.time.outliers),
          text(row.traffic.read_bytes),
          text(row.traffic.written_bytes),
          text(RateOf(row)),
          text(Name(row.limit)),
          text(LimitRateOf(row)),
          text(ShareOfLimit(row)),
          text(row.operations),
          text(row.cache == CacheState::kCold && IsAsCold(row)),
          OptionalText(row.ratio),
          OptionalText(row.p_value),
          CsvField(machine.cpu_model),
          text(machine.cpus),
          machine.isa,
          GovernorText(machine),
          text(machine.load_average)};
}

class Csv : public ResultText {
 public:
  explicit Csv(const BenchPlan& plan) : machine_(plan.machine) {}

  std::string Begin() override { return std::string(kCsvHeader); }
  std::string Row(const BenchRow& row) override {
    return fmt::format("{}\r\n", fmt::join(CsvFields(row, machine_), ","));
  }

 private:
  const Machine machine_;
};

// Google Benchmark's layout: for each row its samples and aggregates, then those of its limit.
class GoogleJson : public ResultText {
 public:
  GoogleJson(const BenchPlan& plan, const BenchLibrary& library) {
    const Machine& machine = plan.machine;
    std::map<std::string, std::string> context = {{"dmlop_version", DMLOP_VERSION},
                                                  {"cpu_model", machine.cpu_model},
                                                  {"isa", machine.isa},
                                                  {"governor", GovernorText(machine)}};
    for (const BenchWork& work : plan.works) context[DescriptorKey(work.name)] = work.descriptor;
    writer_ = library.NewJson(machine.cpus, context);
  }

  std::string Begin() override { return writer_->Begin(); }
  std::string Row(const BenchRow& row) override {
    const JsonEntry entries[] = {EntryOf(row), LimitEntryOf(row)};
    return writer_->Add(entries);
  }
  std::string End() override { return writer_->End(); }

 private:
  std::unique_ptr<JsonWriter> writer_;
};

}  // namespace

std::string DescriptorKey(const std::string& name) {
  return "descriptor of " + name;
}

// --- output --------------------------------------------------------------------------------------

namespace {

BenchFormat FormatFor(const BenchOptions& options) {
  if (options.format) return *options.format;
  const std::string extension = std::filesystem::path(options.output).extension().string();
  if (extension == ".json") return BenchFormat::kJson;
  if (extension == ".csv") return BenchFormat::kCsv;
  if (extension == ".md") return BenchFormat::kMarkdown;
  const bool is_text = extension.empty() || extension == ".txt" || IsDevice(options.output);
  if (is_text) return BenchFormat::kTable;
  throw Error(ErrorKind::kUsage,
              "{}: unknown kind of file; the known extensions are .json, .csv, .md and .txt, and "
              "--format chooses for any other",
              options.output);
}

std::unique_ptr<ResultText> TextIn(BenchFormat format, const BenchPlan& plan,
                                   const BenchLibrary& library, std::optional<size_t> width) {
  switch (format) {
    case BenchFormat::kTable:
      return MakeTable(plan, width);
    case BenchFormat::kJson:
      return std::make_unique<GoogleJson>(plan, library);
    case BenchFormat::kCsv:
      return std::make_unique<Csv>(plan);
    case BenchFormat::kMarkdown:
      return MakeMarkdown(plan);
  }
  return nullptr;
}

}  // namespace

void CheckBenchOutput(const BenchOptions& options) {
  FormatFor(options);
  const std::string& path = options.output;
  if (!path.empty() && !IsDevice(path)) OutputFile(path, 0);
}

BenchOutput::BenchOutput(const BenchOptions& options, const CommonOptions& common,
                         const BenchLibrary& library, BenchReport& report)
    : options_(options), quiet_(common.quiet), report_(report) {
  const BenchFormat format = FormatFor(options);
  const std::optional<size_t> width = TerminalWidth(STDOUT_FILENO);
  if (options.output.empty() || IsStandardOutput(options.output)) {
    shown_ = TextIn(format, report.plan, library, options.output.empty() ? width : std::nullopt);
  } else {
    filed_ = TextIn(format, report.plan, library, std::nullopt);
    if (IsDevice(options.output)) {
      device_.emplace(options.output);
    } else if (!quiet_) {
      shown_ = MakeTable(report.plan, width);
    }
  }
  Print(shown_ ? shown_->Begin() : "", filed_ ? filed_->Begin() : "");
}

void BenchOutput::Print(const std::string& shown, const std::string& filed) {
  if (device_) {
    device_->Write(std::as_bytes(std::span(filed)));
  } else {
    content_ += filed;
  }
  if (!has_reader_ || shown.empty()) return;
  try {
    PrintResult(shown);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kClosedPipe || !filed_) throw;
    has_reader_ = false;
  }
}

void BenchOutput::Add(BenchRow row) {
  const std::lock_guard lock(mutex_);
  Print(shown_ ? shown_->Row(row) : "", filed_ ? filed_->Row(row) : "");
  report_.rows.push_back(std::move(row));
}

void BenchOutput::Finish() {
  is_finished_ = true;
  Print(shown_ ? shown_->End() : "", filed_ ? filed_->End() : "");
  if (device_) return device_->Close();
  if (filed_ && !report_.rows.empty()) ResultFile(options_.output, content_).Publish();
}

void BenchOutput::End() {
  const std::lock_guard lock(mutex_);
  Finish();
}

void BenchOutput::Interrupt() {
  // Another thread may be blocked while it prints to a reader that does not read.
  std::unique_lock lock(mutex_, std::chrono::seconds(1));
  if (!lock || is_finished_) return;
  lock.release();  // stays locked, because the process ends
  try {
    Finish();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kClosedPipe) return;
    return PrintMessage("dmlop: {}\n", Printable(error.what()));
  }
  if (quiet_) return;
  const size_t rows = report_.rows.size();
  const std::string file = !filed_
                               ? ""
                               : fmt::format("; {} {}", Printable(options_.output),
                                             rows > 0 || device_ ? "has them" : "is not written");
  PrintMessage("dmlop: note: interrupted after {} of {}{}\n", rows,
               Counted(report_.plan.row_count(), "row"), file);
}

// --- tables --------------------------------------------------------------------------------------

namespace {

constexpr int kNeeded = kNeededColumn;
constexpr size_t kGap = kColumnGap;
constexpr size_t kMinBar = 8;
constexpr size_t kMaxBar = 24;
constexpr size_t kMinName = 8;

// A column of the table.
struct Column {
  std::string_view header;
  int worth;
  size_t width;  // of the widest usual cell, because rows are printed before later ones are known
  std::string (*cell)(const BenchRow& row);
  bool is_text = false;
};

std::string BytesText(int64_t bytes) {
  constexpr std::pair<int64_t, std::string_view> kUnits[] = {
      {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes < unit) continue;
    return fmt::format("{:.4g} {}", static_cast<double>(bytes) / static_cast<double>(unit), name);
  }
  return fmt::format("{} B", bytes);
}

std::string CacheText(const BenchRow& row) {
  return IsAsCold(row) ? std::string(Name(row.cache)) : "not cold";
}

constexpr size_t kTimeWidth = 8;

template <double SampleStatistics::*kFigure>
std::string TimeCell(const BenchRow& row) {
  return TimeText(row.time.*kFigure);
}

using Times = SampleStatistics;
constexpr Column kColumns[] = {
    {"operator", kNeeded, 8, [](const BenchRow& row) { return row.name; }, true},
    {"threads", 7, 7, [](const BenchRow& row) { return std::to_string(row.threads); }},
    {"cache", kNeeded, 8, CacheText, true},
    {"median", kNeeded, kTimeWidth, TimeCell<&Times::median>},
    {"min", 5, kTimeWidth, TimeCell<&Times::minimum>},
    {"mean", 4, kTimeWidth, TimeCell<&Times::mean>},
    {"stddev", 6, kTimeWidth, TimeCell<&Times::deviation>},
    {"p5", 2, kTimeWidth, TimeCell<&Times::percentile_5>},
    {"p95", 3, kTimeWidth, TimeCell<&Times::percentile_95>},
    {"moved", 1, 9, [](const BenchRow& row) { return BytesText(row.traffic.total_bytes()); }},
    {"GB/s", 8, 6, [](const BenchRow& row) { return fmt::format("{:.2f}", RateOf(row) / 1e9); }},
    {"limit", kNeeded, 15,
     [](const BenchRow& row) {
       return fmt::format("{:.0f}% {}", 100 * ShareOfLimit(row), Name(row.limit));
     }},
};
constexpr Column kBaselineColumns[] = {
    {"to baseline", kNeeded, 11,
     [](const BenchRow& row) { return row.ratio ? fmt::format("{:.3f}", *row.ratio) : "none"; }},
    {"p", 8, 7,
     [](const BenchRow& row) { return row.p_value ? fmt::format("{:.2g}", *row.p_value) : ""; }},
};

std::vector<Column> ColumnsOf(const BenchPlan& plan) {
  std::vector<Column> columns(std::begin(kColumns), std::end(kColumns));
  for (const BenchWork& work : plan.works) {
    columns[0].width = std::max(columns[0].width, TextWidth(work.name));
  }
  if (plan.threads.size() > 1) columns[1].worth = kNeeded;  // distinguishes rows
  if (plan.has_baseline) {
    columns.insert(columns.end(), std::begin(kBaselineColumns), std::end(kBaselineColumns));
  }
  return columns;
}

// Full at the limit and beyond; drawn in eighths of a column if the locale allows.
std::string BarText(double share, size_t width) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double columns = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  if (!UseUnicode()) return std::string(static_cast<size_t>(std::lround(columns)), '#');
  const size_t eighths = static_cast<size_t>(std::lround(8 * columns));
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + std::string(kEighths[eighths % 8]);
}

std::string Padded(const std::string& cell, const Column& column) {
  const std::string blanks(column.width - std::min(column.width, TextWidth(cell)), ' ');
  return column.is_text ? cell + blanks : blanks + cell;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

class Table : public ResultText {
 public:
  Table(const BenchPlan& plan, std::optional<size_t> width)
      : machine_(MachineText(plan.machine)), columns_(ColumnsOf(plan)) {
    if (!width) return;
    LeaveOutUntil(columns_, *width - std::min(*width, kMinBar + kGap));
    Column& names = columns_[0];
    const size_t others = WidthOf(columns_) - names.width + kGap + kMinBar;
    names.width = std::min(names.width, std::max(kMinName, *width - std::min(*width, others)));
    const size_t used = WidthOf(columns_) + kGap;
    bar_ = *width < used + kMinBar ? 0 : std::min(*width - used, kMaxBar);
  }

  std::string Begin() override {
    return machine_ + "\n" + Line([](const Column& column) { return std::string(column.header); });
  }

  std::string Row(const BenchRow& row) override {
    return Line([&](const Column& column) { return column.cell(row); },
                BarText(ShareOfLimit(row), bar_));
  }

 private:
  std::string Line(const std::function<std::string(const Column&)>& cell,
                   const std::string& bar = "") const {
    // Names are cut at the front: their ends tell them apart.
    std::string line = Padded(CutCell(cell(columns_[0]), columns_[0].width), columns_[0]);
    for (size_t i = 1; i < columns_.size(); ++i) {
      line += std::string(kGap, ' ') + Padded(cell(columns_[i]), columns_[i]);
    }
    line += std::string(kGap, ' ') + bar;
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  std::string machine_;
  std::vector<Column> columns_;
  size_t bar_ = 0;
};

class Markdown : public ResultText {
 public:
  explicit Markdown(const BenchPlan& plan)
      : machine_(MachineText(plan.machine)), columns_(ColumnsOf(plan)) {}

  std::string Begin() override {
    return machine_ + "\n\n" +
           Line([](const Column& column) { return std::string(column.header); }) +
           Line([](const Column& column) { return column.is_text ? "---" : "---:"; });
  }

  std::string Row(const BenchRow& row) override {
    return Line([&](const Column& column) { return Escaped(column.cell(row)); });
  }

 private:
  std::string Line(const std::function<std::string(const Column&)>& cell) const {
    std::string line;
    for (const Column& column : columns_) line += "| " + cell(column) + " ";
    return line + "|\n";
  }

  std::string machine_;
  std::vector<Column> columns_;
};

}  // namespace

std::unique_ptr<ResultText> MakeTable(const BenchPlan& plan, std::optional<size_t> width) {
  return std::make_unique<Table>(plan, width);
}

std::unique_ptr<ResultText> MakeMarkdown(const BenchPlan& plan) {
  return std::make_unique<Markdown>(plan);
}

}  // namespace dmlop
