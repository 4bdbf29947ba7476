// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/bench/bench_report.h"
#include "app/files/output.h"
#include "app/text/table_text.h"

namespace dmlop {
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
