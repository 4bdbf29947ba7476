// Sums over windows that slide along the rows of a table.
#pragma once

#include <cstdint>
#include <vector>

namespace dmlop {

// How far a window reaches from its element, not negative.
struct WindowReach {
  int64_t before, after;

  WindowReach Mirrored() const { return {after, before}; }
};

// A table of rows x columns numbers in row-major order becomes that of their sums over rows
// [row - before, row + after], as far as there are such: three additions for each, whatever the
// reach. Nothing outside of a window has to do with its sum.
std::vector<double> SumsAlongRows(const std::vector<double>& table, int64_t columns,
                                  WindowReach reach);

// The same along columns.
std::vector<double> SumsAlongColumns(const std::vector<double>& table, int64_t columns,
                                     WindowReach reach);

}  // namespace dmlop
