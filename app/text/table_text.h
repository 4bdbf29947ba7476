// Rows of words in columns that line up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace dmlop {

inline constexpr size_t kColumnGap = 2;
inline constexpr int kNeededColumn = 9;  // the worth of a column that is never left out

// With the gaps between them. A Column has a `width`.
template <typename Column>
size_t WidthOf(const std::vector<Column>& columns) {
  size_t width = (columns.size() - 1) * kColumnGap;
  for (const Column& column : columns) width += column.width;
  return width;
}

// Leaves columns out until the others fit, those of the lowest `worth` first.
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

// The cell as it is or, where it is wider, its end behind a mark.
std::string CutCell(const std::string& cell, size_t width);

// The first column to the left, the others to the right, two spaces in front of each. The rows are
// of one length, that of `worths`. Where they are wider than that, columns are left out, and cells
// of the first are cut; at least half of the width is for them.
std::string TableText(std::span<const std::vector<std::string>> rows, std::span<const int> worths,
                      size_t width = std::numeric_limits<size_t>::max());

}  // namespace dmlop
