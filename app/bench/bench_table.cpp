#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/bench/bench_report.h"
#include "app/files/output.h"
#include "app/text/text_width.h"

namespace dmlop {
namespace {

// One of the table. Where there is not room for all, those of the lowest worth go first.
struct Column {
  std::string header;
  int worth;
  bool is_text = false;
  std::vector<std::string> cells = {};
};

constexpr int kNeeded = 9;
constexpr size_t kGap = 2;
constexpr size_t kMinBar = 8;
constexpr size_t kMaxBar = 24;
constexpr size_t kMinName = 8;

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

size_t WidthOf(const Column& column) {
  size_t width = TextWidth(column.header);
  for (const std::string& cell : column.cells) width = std::max(width, TextWidth(cell));
  return width;
}

size_t WidthOf(const std::vector<Column>& columns) {
  size_t width = (columns.size() - 1) * kGap;
  for (const Column& column : columns) width += WidthOf(column);
  return width;
}

std::vector<Column> ColumnsOf(const BenchReport& report) {
  const bool differ = std::any_of(report.rows.begin(), report.rows.end(), [&](const BenchRow& row) {
    return row.threads != report.rows[0].threads;
  });
  std::vector<Column> columns = {{"operator", kNeeded, true},
                                 {"threads", differ ? kNeeded : 7},
                                 {"cache", kNeeded, true},
                                 {"median", kNeeded},
                                 {"min", 5},
                                 {"mean", 4},
                                 {"stddev", 6},
                                 {"p5", 2},
                                 {"p95", 3},
                                 {"moved", 1},
                                 {"GB/s", 8},
                                 {"limit", kNeeded}};
  if (report.has_baseline) {
    columns.push_back({"to baseline", kNeeded});
    columns.push_back({"p", 8});
  }
  for (const BenchRow& row : report.rows) {
    const std::string cells[] = {
        row.name,
        std::to_string(row.threads),
        CacheText(row),
        TimeText(row.time.median),
        TimeText(row.time.minimum),
        TimeText(row.time.mean),
        TimeText(row.time.deviation),
        TimeText(row.time.percentile_5),
        TimeText(row.time.percentile_95),
        BytesText(row.traffic.total_bytes()),
        fmt::format("{:.2f}", RateOf(row) / 1e9),
        fmt::format("{:.0f}% {}", 100 * ShareOfLimit(row), Name(row.limit)),
        row.ratio ? fmt::format("{:.3f}", *row.ratio) : "none",
        row.p_value ? fmt::format("{:.2g}", *row.p_value) : ""};
    for (size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  return columns;
}

void LeaveOutUntil(std::vector<Column>& columns, size_t width) {
  while (WidthOf(columns) > width) {
    const auto least =
        std::min_element(columns.begin(), columns.end(),
                         [](const auto& a, const auto& b) { return a.worth < b.worth; });
    if (least->worth == kNeeded) return;
    columns.erase(least);
  }
}

// Shortens the names, from their front: they end with what tells them apart.
void ShortenNames(Column& names, size_t width) {
  for (std::string& name : names.cells) name = CutFrontTo(width, name, UseUnicode() ? "…" : "~");
}

// Whole for the limit and beyond; eighths of a column where the locale has them.
std::string BarText(double share, size_t width) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double columns = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  if (!UseUnicode()) return std::string(static_cast<size_t>(std::lround(columns)), '#');
  const size_t eighths = static_cast<size_t>(std::lround(8 * columns));
  std::string bar;
  for (size_t i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + std::string(kEighths[eighths % 8]);
}

std::string Padded(const std::string& cell, const Column& column, size_t width) {
  const std::string blanks(width - std::min(width, TextWidth(cell)), ' ');
  return column.is_text ? cell + blanks : blanks + cell;
}

std::string WithoutBlanksAtEnd(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string LineOf(const std::vector<Column>& columns,
                   const std::function<std::string(const Column&)>& cell) {
  std::string line;
  for (const Column& column : columns) {
    if (!line.empty()) line += std::string(kGap, ' ');
    line += Padded(cell(column), column, WidthOf(column));
  }
  return line;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string TableText(const BenchReport& report, std::optional<size_t> width) {
  std::vector<Column> columns = ColumnsOf(report);
  size_t bar = 0;
  if (width) {
    LeaveOutUntil(columns, *width - std::min(*width, kMinBar + kGap));
    const size_t others = WidthOf(columns) - WidthOf(columns[0]) + kGap + kMinBar;
    ShortenNames(columns[0], std::max(kMinName, *width - std::min(*width, others)));
    const size_t used = WidthOf(columns) + kGap;
    bar = *width < used + kMinBar ? 0 : std::min(*width - used, kMaxBar);
  }
  std::string text = MachineText(report.machine) + "\n";
  text += WithoutBlanksAtEnd(LineOf(columns, [](const Column& c) { return c.header; })) + "\n";
  for (size_t i = 0; i < report.rows.size(); ++i) {
    std::string line = LineOf(columns, [&](const Column& c) { return c.cells[i]; });
    if (bar > 0) line += std::string(kGap, ' ') + BarText(ShareOfLimit(report.rows[i]), bar);
    text += WithoutBlanksAtEnd(std::move(line)) + "\n";
  }
  return text;
}

std::string MarkdownText(const BenchReport& report) {
  const std::vector<Column> columns = ColumnsOf(report);
  std::string text = MachineText(report.machine) + "\n\n";
  const auto add_line = [&](const std::function<std::string(const Column&)>& cell) {
    for (const Column& column : columns) text += "| " + cell(column) + " ";
    text += "|\n";
  };
  add_line([](const Column& c) { return c.header; });
  add_line([](const Column& c) { return c.is_text ? "---" : "---:"; });
  for (size_t i = 0; i < report.rows.size(); ++i) {
    add_line([&](const Column& c) { return Escaped(c.cells[i]); });
  }
  return text;
}

}  // namespace dmlop
