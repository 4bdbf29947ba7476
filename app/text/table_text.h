// SPDX-License-Identifier: Apache-2.0
// Tables of words in aligned columns, and histograms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dmlop {

inline constexpr size_t kColumnGap = 2;
inline constexpr int kNeededColumn = 9;  // worth of a column that is never left out

// The width of all columns with the gaps between them. A Column has a `width`.
template <typename Column>
size_t WidthOf(const std::vector<Column>& columns) {
  size_t width = (columns.size() - 1) * kColumnGap;
  for (const Column& column : columns) width += column.width;
  return width;
}

// Removes columns until the others fit, those with the lowest `worth` first.
template <typename Column>
void LeaveOutUntil(std::vector<Column>& columns, size_t width) {
  while (WidthOf(columns) > width) {
    const auto least =
        std::min_element(columns.begin(), columns.end(),
                         [](const Column& a, const Column& b) { return a.worth < b.worth; });
    if (least->worth == kNeededColumn) return;
    columns.erase(least);
  }
}

// The cell or, if it is wider, its end after a mark.
std::string CutCell(const std::string& cell, size_t width);

// Aligns the first column left and the others right, with two spaces before each. Every row is as
// long as `worths`. If the table is wider than `width`, columns are left out, and cells of the
// first one, which gets at least half of the width, are cut.
std::string TableText(std::span<const std::vector<std::string>> rows, std::span<const int> worths,
                      size_t width = std::numeric_limits<size_t>::max());

// A text with parts in place of the marks in it, such as "@OPTIONS@", each of which it has once.
std::string WithParts(std::string text,
                      std::initializer_list<std::pair<std::string_view, std::string>> parts);

// Quotes a cell if necessary (RFC 4180).
std::string CsvField(const std::string& text);

struct HistogramRow {
  std::string label;
  int64_t count;
  int64_t dotted = 0;  // part of the count; its share of the bar is dotted
};

// One line for each row: label, count and bar, as wide as standard output allows. The largest count
// has the longest bar; each nonzero count, and each nonzero part of one, has a visible bar.
std::string HistogramText(const std::vector<HistogramRow>& rows);

// --- widths --------------------------------------------------------------------------------------

// The character at a byte of UTF-8 text.
struct Glyph {
  size_t bytes;       // 1 for an invalid byte
  size_t cells;       // terminal cells: 2 for wide characters, 0 for combining marks
  bool is_printable;  // false for control characters and invalid bytes, whose cells are 1
};

Glyph GlyphAt(std::string_view text, size_t at);

size_t TextWidth(std::string_view text);  // in cells

// The text or, if it is wider, its beginning with an ellipsis.
std::string CutTo(size_t width, std::string_view text);

// The text or, if it is wider, its end after an ellipsis of one cell.
std::string CutFrontTo(size_t width, std::string_view text, std::string_view ellipsis);

// Breaks words into lines of so many cells; all but the first begin with the margin.
std::string WrappedText(std::string_view text, size_t columns, const std::string& margin);

}  // namespace dmlop
