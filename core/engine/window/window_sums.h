// SPDX-License-Identifier: Apache-2.0
// Sums over windows that slide along the rows of a table.
#pragma once

#include <cstdint>
#include <vector>

namespace dmlop {

// How far a window extends from its element; not negative.
struct WindowReach {
  int64_t before, after;

  WindowReach Mirrored() const { return {after, before}; }
};

// Takes a table of numbers in row-major order, and replaces each by the sum of its column over rows
// [row - before, row + after], as far as they exist. This takes three additions per number,
// whatever the reach. A sum does not depend on numbers outside of its window.
std::vector<double> SumsAlongRows(const std::vector<double>& table, int64_t columns,
                                  WindowReach reach);

// Likewise along columns.
std::vector<double> SumsAlongColumns(const std::vector<double>& table, int64_t columns,
                                     WindowReach reach);

}  // namespace dmlop
