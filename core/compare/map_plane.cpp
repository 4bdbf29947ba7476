// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/compare/map_plane.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// --- differences ---------------------------------------------------------------------------------

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

// --- values --------------------------------------------------------------------------------------

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A row of cells, which its rows of elements are added to.
template <typename T>
class CellRow {
 public:
  CellRow(const MapAxis& columns, int64_t row_count) : columns_(columns) {
    for (int64_t i = 0; i < columns.cells; ++i) {
      const int64_t count = row_count * (columns.Begin(i + 1) - columns.Begin(i));
      cells_.push_back({.part = 1.0 / static_cast<double>(count), .count = count});
    }
  }

  void AddElements(const T* row, int64_t stride) {
    int64_t begin = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      const int64_t end = columns_.Begin(static_cast<int64_t>(i) + 1);
      for (int64_t at = begin; at < end; ++at) cells_[i].Add(AsDouble(row[at * stride]));
      begin = end;
    }
  }

  // Writes the cells from `out` on.
  void Finish(ValueCell* out) const {
    for (const Cell& cell : cells_) *out++ = cell.Finished();
  }

 private:
  struct Cell {
    double part;    // one element's share of the cell
    int64_t count;  // number of elements
    // Shares of the elements are added, so that the sum cannot overflow.
    double sum = 0.0;
    double min = kInfinity;
    double max = -kInfinity;
    int64_t special_count = 0;
    ValueCell special = {};

    void Add(double value) {
      if (!std::isfinite(value)) return AddSpecial(value);
      sum += value * part;
      min = std::min(min, value);
      max = std::max(max, value);
    }
    void AddSpecial(double value) {
      ++special_count;
      special.has_nan |= std::isnan(value);
      special.has_positive_infinity |= value > 0;
      special.has_negative_infinity |= value < 0;
    }
    ValueCell Finished() const {
      ValueCell finished = special;
      finished.has_finite = special_count < count;
      if (!finished.has_finite) return finished;
      const double scale = static_cast<double>(count) / static_cast<double>(count - special_count);
      finished.mean = std::clamp(sum * scale, min, max);
      return finished;
    }
  };

  const MapAxis columns_;
  std::vector<Cell> cells_;
};

template <typename T>
void MapValues(const T* data, int64_t row_stride, int64_t column_stride, int64_t bytes,
               ValueMap& map) {
  const MapGrid& grid = map.grid;
  ParallelFor(grid.rows.cells, 1, bytes, [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; ++cell) {
      const int64_t first = grid.rows.Begin(cell);
      const int64_t last = grid.rows.Begin(cell + 1);
      CellRow<T> cells(grid.columns, last - first);
      for (int64_t row = first; row < last; ++row) {
        cells.AddElements(data + row * row_stride, column_stride);
      }
      cells.Finish(&map.cells[static_cast<size_t>(cell * grid.columns.cells)]);
    }
  });
}

std::optional<ValueRange> RangeOf(const std::vector<ValueCell>& cells) {
  ValueRange range{kInfinity, -kInfinity};
  for (const ValueCell& cell : cells) {
    if (!cell.has_finite) continue;
    range.min = std::min(range.min, cell.mean);
    range.max = std::max(range.max, cell.mean);
  }
  return range.min <= range.max ? std::optional(range) : std::nullopt;
}

}  // namespace

double ValueRange::Position(double value) const {
  if (min == max) return 0.5;
  // The difference of two doubles can overflow, but halves of the least ones would be 0.
  const double scale = std::isfinite(max - min) ? 1 : 0.5;
  return std::clamp((value * scale - min * scale) / (max * scale - min * scale), 0.0, 1.0);
}

ValueMap ComputeValueMap(const ConstTensorView& view, const MapLimits& limits) {
  const MapPlane plane = PlaneOf(view.layout.sizes);
  const auto stride = [&](std::optional<size_t> d) { return d ? view.layout.strides[*d] : 0; };
  ValueMap map{view.type, GridOf(plane, limits), {}, {}};
  map.cells.resize(map.grid.cell_count());
  const int64_t bytes = plane.rows * plane.columns * static_cast<int64_t>(ByteWidth(view.type));
  const Work work("drawing", bytes);
  VisitDataType(AllTypes{}, view.type, [&]<typename T>() {
    MapValues(view.elements<T>(), stride(plane.row_dimension), stride(plane.column_dimension),
              bytes, map);
  });
  map.range = RangeOf(map.cells);
  return map;
}

}  // namespace dmlop
