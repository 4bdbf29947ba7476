// SPDX-License-Identifier: Apache-2.0
#include "app/text/table_text.h"

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

}  // namespace dmlop
