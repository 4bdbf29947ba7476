// SPDX-License-Identifier: Apache-2.0
#include "app/text/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/files/output.h"
#include "app/text/text_width.h"

namespace dmlop {
namespace {

constexpr size_t kLeastFirst = 8;

struct Column {
  size_t number;
  int worth;
  size_t width;
};

std::vector<Column> ColumnsOf(std::span<const std::vector<std::string>> rows,
                              std::span<const int> worths) {
  std::vector<Column> columns;
  for (size_t i = 0; i < worths.size(); ++i) {
    Column& column = columns.emplace_back(Column{i, worths[i], 0});
    for (const auto& row : rows) column.width = std::max(column.width, TextWidth(row[i]));
  }
  return columns;
}

std::string Padded(const std::string& cell, size_t width, bool is_first) {
  const std::string blanks(width - std::min(width, TextWidth(cell)), ' ');
  return is_first ? cell + blanks : blanks + cell;
}

}  // namespace

std::string CutCell(const std::string& cell, size_t width) {
  return CutFrontTo(width, cell, UseUnicode() ? "…" : "~");
}

std::string TableText(std::span<const std::vector<std::string>> rows, std::span<const int> worths,
                      size_t width) {
  std::vector<Column> columns = ColumnsOf(rows, worths);
  const size_t room = width - std::min(width, kColumnGap);
  const size_t whole = columns[0].width;
  columns[0].width = std::min(whole, std::max(kLeastFirst, room / 2));
  LeaveOutUntil(columns, room);
  const size_t others = WidthOf(columns) - columns[0].width;
  columns[0].width = std::min(whole, std::max(kLeastFirst, room - std::min(room, others)));
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (const Column& column : columns) {
      const std::string cell = CutCell(row[column.number], column.width);
      text += std::string(kColumnGap, ' ') + Padded(cell, column.width, column.number == 0);
    }
    text += '\n';
  }
  return text;
}

namespace {

constexpr size_t kLeastBar = 4;
constexpr size_t kMostBar = 40;

size_t CellsOf(int64_t count, int64_t most, size_t width) {
  const double share = static_cast<double>(count) / static_cast<double>(most);
  return static_cast<size_t>(std::ceil(share * static_cast<double>(width)));
}

std::string BarText(const HistogramRow& row, int64_t most, size_t width) {
  const size_t dots = CellsOf(row.dotted, most, width);
  const size_t all = std::max(CellsOf(row.count, most, width), dots + (row.dotted < row.count));
  return std::string(dots, '.') + std::string(all - dots, '#');
}

}  // namespace

std::string HistogramText(const std::vector<HistogramRow>& rows) {
  int64_t most = 1;
  size_t label_width = 0;
  for (const HistogramRow& row : rows) {
    most = std::max(most, row.count);
    label_width = std::max(label_width, row.label.size());
  }
  const size_t count_width = std::to_string(most).size();
  const size_t before_bar = 2 + label_width + 2 + count_width + 1;
  const size_t width = OutputWidth();
  const size_t bar_width =
      std::clamp(width > before_bar ? width - before_bar : 0, kLeastBar, kMostBar);
  std::string text;
  for (const HistogramRow& row : rows) {
    text += fmt::format("  {:>{}}  {:>{}} {}\n", row.label, label_width, row.count, count_width,
                        BarText(row, most, bar_width));
  }
  return text;
}

}  // namespace dmlop
