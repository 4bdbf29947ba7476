// SPDX-License-Identifier: Apache-2.0
#include "app/text/picture_marks.h"

#include <algorithm>

namespace dmlop {
namespace {

constexpr int64_t kLeastMark = 5;  // in pixels
constexpr int64_t kMarksOfLongerSide = 256;
constexpr int64_t kSurroundings = 3;  // as a multiple of the mark, in each direction

// Counts the differing cells in any rectangle.
class Counts {
 public:
  Counts(const std::vector<uint8_t>& cells, int64_t rows, int64_t columns)
      : columns_(columns + 1), sums_(static_cast<size_t>((rows + 1) * columns_)) {
    auto cell = cells.begin();
    for (int64_t row = 1; row <= rows; ++row) {
      for (int64_t column = 1; column <= columns; ++column) {
        sums_[Index(row, column)] = sums_[Index(row - 1, column)] + sums_[Index(row, column - 1)] -
                                    sums_[Index(row - 1, column - 1)] + (*cell++ > 0);
      }
    }
  }

  int64_t Between(int64_t top, int64_t left, int64_t bottom, int64_t right) const {
    return sums_[Index(bottom, right)] - sums_[Index(top, right)] - sums_[Index(bottom, left)] +
           sums_[Index(top, left)];
  }

 private:
  size_t Index(int64_t row, int64_t column) const {
    return static_cast<size_t>(row * columns_ + column);
  }

  const int64_t columns_;
  std::vector<int64_t> sums_;  // over all cells above and to the left
};

// How far a mark extends from the cell at its centre, and how far its surroundings do.
struct Reach {
  Reach(int64_t mark, int64_t cell_pixels, int64_t all)
      : cells(mark / 2 / cell_pixels), around(kSurroundings * (2 * cells + 1)), size(all) {}

  int64_t Begin(int64_t at, int64_t distance) const { return std::max<int64_t>(at - distance, 0); }
  int64_t End(int64_t at, int64_t distance) const { return std::min(at + distance + 1, size); }

  const int64_t cells, around, size;
};

}  // namespace

std::vector<uint8_t> WithMarks(const std::vector<uint8_t>& cells, const MapGrid& grid,
                               int64_t cell_width, int64_t cell_height) {
  const int64_t rows = grid.rows.cells;
  const int64_t columns = grid.columns.cells;
  const int64_t longer_side = std::max(rows * cell_height, columns * cell_width);
  const int64_t mark = std::max(kLeastMark, longer_side / kMarksOfLongerSide);
  const Reach down(mark, cell_height, rows);
  const Reach across(mark, cell_width, columns);
  // A line has this many, and it must remain visible, too.
  const int64_t few = 2 * std::max(down.around, across.around) + 1;
  const Counts counts(cells, rows, columns);
  std::vector<uint8_t> marked = cells;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const uint8_t worst = cells[static_cast<size_t>(row * columns + column)];
      if (worst == 0) continue;
      const int64_t count =
          counts.Between(down.Begin(row, down.around), across.Begin(column, across.around),
                         down.End(row, down.around), across.End(column, across.around));
      if (count > few) continue;
      for (int64_t y = down.Begin(row, down.cells); y < down.End(row, down.cells); ++y) {
        for (int64_t x = across.Begin(column, across.cells); x < across.End(column, across.cells);
             ++x) {
          uint8_t& cell = marked[static_cast<size_t>(y * columns + x)];
          cell = std::max(cell, worst);
        }
      }
    }
  }
  return marked;
}

}  // namespace dmlop
