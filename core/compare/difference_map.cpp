// SPDX-License-Identifier: Apache-2.0
#include "core/compare/difference_map.h"

#include <utility>

#include "core/tensor/layout.h"

namespace dmlop {

DifferenceMap::DifferenceMap(const Dims& sizes, const MapLimits& limits)
    : plane_(PlaneOf(sizes)),
      grid_(GridOf(plane_, limits)),
      row_stride_(plane_.row_dimension ? PackedStrides(sizes)[*plane_.row_dimension] : 1),
      layers_(Product(sizes) / (plane_.rows * plane_.columns)),
      cells_(new Cell[grid_.cell_count()]) {}

uint8_t DifferenceMap::worst() const {
  uint8_t worst = kPasses;
  for (size_t i = 0; i < grid_.cell_count(); ++i) {
    worst = std::max(worst, cells_[i].worst.load(std::memory_order_relaxed));
  }
  return worst;
}

void DifferenceMap::LowerBins(uint8_t bins) {
  for (int64_t i = 0; i < grid_.rows.cells * grid_.columns.cells; ++i) {
    std::atomic<uint8_t>& worst = cells_[static_cast<size_t>(i)].worst;
    const bool has_ulp = worst > kPasses + 1 && worst < kMismatch;
    if (has_ulp) worst = static_cast<uint8_t>(worst - bins);
  }
}

double DifferenceMap::share(int64_t row, int64_t column) const {
  const int64_t rows = grid_.rows.Begin(row + 1) - grid_.rows.Begin(row);
  const int64_t columns = grid_.columns.Begin(column + 1) - grid_.columns.Begin(column);
  return static_cast<double>(count(row, column)) / static_cast<double>(rows * columns * layers_);
}

DifferenceMap::Writer::Writer(Writer&& other) noexcept
    : map_(other.map_),
      begin_(other.begin_),
      end_(other.end_),
      cell_(other.cell_),
      count_(std::exchange(other.count_, 0)),
      worst_(other.worst_) {}

void DifferenceMap::Writer::MoveTo(int64_t index) {
  Flush();
  const MapGrid& grid = map_->grid_;
  const int64_t column = index % grid.columns.size;
  const int64_t cell_column = grid.columns.CellOf(column);
  const int64_t row = index / map_->row_stride_ % grid.rows.size;
  begin_ = index - column + grid.columns.Begin(cell_column);
  end_ = index - column + grid.columns.Begin(cell_column + 1);
  cell_ = static_cast<size_t>(grid.rows.CellOf(row) * grid.columns.cells + cell_column);
}

void DifferenceMap::Writer::Flush() {
  if (count_ == 0) return;
  Cell& cell = map_->cells_[cell_];
  cell.count.fetch_add(count_, std::memory_order_relaxed);
  uint8_t before = cell.worst.load(std::memory_order_relaxed);
  while (before < worst_ &&
         !cell.worst.compare_exchange_weak(before, worst_, std::memory_order_relaxed)) {
  }
  count_ = 0;
  worst_ = kPasses;
}

}  // namespace dmlop
