// SPDX-License-Identifier: Apache-2.0
#include "core/compare/difference_map.h"

#include <algorithm>
#include <cmath>

#include "core/tensor/layout.h"

namespace dmlop {
namespace {

constexpr int64_t kFewPlanes = 12;  // all are drawn, also those without differences

// The sizes of the dimensions before the plane's, if one of them is more than 1.
Dims OuterSizes(const Dims& sizes, const MapPlane& plane) {
  const size_t end = plane.row_dimension ? *plane.row_dimension : 0;
  const Dims outer(sizes.begin(), sizes.begin() + end);
  return Product(outer) > 1 ? outer : Dims();
}

}  // namespace

DifferenceMap::DifferenceMap(const Dims& sizes, const WrongElements& wrong,
                             const ElementError& error, ErrorMeasure measure, const MapSpace& space)
    : plane_(PlaneOf(sizes)),
      measure_(measure),
      plane_count_(Product(sizes) / (plane_.rows * plane_.columns)) {
  const Dims outer = OuterSizes(sizes, plane_);
  const std::vector<int64_t> shown = PlanesToShow(wrong, MostPanels(plane_, space));
  const bool are_all = std::ssize(shown) == plane_count_;
  const PanelArrangement arrangement =
      Arrange(plane_, std::ssize(shown), are_all && !outer.empty() ? outer.back() : 0, space);
  across_ = arrangement.across;
  grid_ = GridOf(plane_, arrangement.cells);
  for (const int64_t number : shown) {
    panels_.push_back({IndexOf(outer, number), std::vector<DifferenceCell>(grid_.cell_count())});
    Fill(wrong, error, number, panels_.back());
  }
}

double DifferenceMap::share(const DifferencePanel& panel, int64_t row, int64_t column) const {
  const int64_t rows = grid_.rows.Begin(row + 1) - grid_.rows.Begin(row);
  const int64_t columns = grid_.columns.Begin(column + 1) - grid_.columns.Begin(column);
  return static_cast<double>(cell(panel, row, column).count) / static_cast<double>(rows * columns);
}

// Also counts the different planes.
std::vector<int64_t> DifferenceMap::PlanesToShow(const WrongElements& wrong, int64_t most) {
  std::vector<int64_t> different;
  int64_t last = -1;
  wrong.ForEach([&](int64_t element) {
    const int64_t number = element / (plane_.rows * plane_.columns);
    if (number == last) return;
    last = number;
    if (++different_count_ <= most) different.push_back(number);
  });
  if (plane_count_ > std::min(most, kFewPlanes) && !different.empty()) return different;
  std::vector<int64_t> first;
  for (int64_t i = 0; i < std::min({plane_count_, most, kFewPlanes}); ++i) first.push_back(i);
  return first;
}

void DifferenceMap::Fill(const WrongElements& wrong, const ElementError& error, int64_t number,
                         DifferencePanel& panel) const {
  const int64_t size = plane_.rows * plane_.columns;
  wrong.ForEachIn(number * size, (number + 1) * size, [&](int64_t element) {
    const int64_t place = element - number * size;
    const int64_t row = grid_.rows.CellOf(place / plane_.columns);
    const int64_t column = grid_.columns.CellOf(place % plane_.columns);
    DifferenceCell& cell = panel.cells[static_cast<size_t>(row * grid_.columns.cells + column)];
    const double size_of_error = error(element);
    ++cell.count;
    cell.has_mismatch |= std::isnan(size_of_error);
    if (size_of_error > cell.worst) cell.worst = size_of_error;
  });
}

}  // namespace dmlop
