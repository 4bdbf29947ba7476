// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/local_response.h"

#include <algorithm>

#include "core/base/integers.h"

namespace dmlop {
namespace {

// A window is as long as a block of rows, so it is the end of one block and the beginning of the
// next.
class RowSums {
 public:
  RowSums(const double* from, int64_t rows, int64_t columns, WindowReach reach, double* to)
      : from_(from),
        to_(to),
        rows_(rows),
        columns_(columns),
        before_(std::min(reach.before, rows - 1)),
        length_(before_ + std::min(reach.after, rows - 1) + 1),
        ends_(static_cast<size_t>((length_ + 1) * columns)),
        beginning_(static_cast<size_t>(columns)) {}

  void Run() {
    const int64_t last_block = FloorDiv(rows_ - 1 - before_, length_);
    for (int64_t block = before_ > 0 ? -1 : 0; block <= last_block; ++block) {
      SumEnds(block * length_);
      SumWindows(block * length_);
    }
  }

 private:
  // For the block from row `begin` on, sums the rows from each row to the block's last.
  void SumEnds(int64_t begin) {
    for (int64_t r = length_; r-- > 0;) {
      double* const end = ends_.data() + r * columns_;
      std::copy_n(end + columns_, columns_, end);
      Add(begin + r, end);
    }
  }

  // Sums the windows that begin in the block.
  void SumWindows(int64_t begin) {
    std::fill(beginning_.begin(), beginning_.end(), 0);
    for (int64_t r = 0; r < length_; ++r) {
      if (r > 0) Add(begin + length_ + r - 1, beginning_.data());
      const int64_t row = begin + r + before_;
      if (row < 0 || row >= rows_) continue;
      const double* const end = ends_.data() + r * columns_;
      double* const sum = to_ + row * columns_;
      for (int64_t c = 0; c < columns_; ++c) sum[c] = end[c] + beginning_[static_cast<size_t>(c)];
    }
  }

  // Rows outside of the table add nothing.
  void Add(int64_t row, double* sum) const {
    if (row < 0 || row >= rows_) return;
    const double* const from = from_ + row * columns_;
    for (int64_t c = 0; c < columns_; ++c) sum[c] += from[c];
  }

  const double* from_;
  double* to_;
  int64_t rows_;
  int64_t columns_;
  int64_t before_;
  int64_t length_;
  std::vector<double> ends_;  // followed by a row of zeros
  std::vector<double> beginning_;
};

}  // namespace

std::vector<double> SumsAlongRows(const std::vector<double>& table, int64_t columns,
                                  WindowReach reach) {
  std::vector<double> sums(table.size());
  const int64_t rows = std::ssize(table) / columns;
  RowSums(table.data(), rows, columns, reach, sums.data()).Run();
  return sums;
}

std::vector<double> SumsAlongColumns(const std::vector<double>& table, int64_t columns,
                                     WindowReach reach) {
  std::vector<double> sums(table.size());
  for (size_t row = 0; row < table.size(); row += static_cast<size_t>(columns)) {
    RowSums(table.data() + row, columns, 1, reach, sums.data() + row).Run();
  }
  return sums;
}

}  // namespace dmlop
