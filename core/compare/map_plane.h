// SPDX-License-Identifier: Apache-2.0
// The plane of a tensor that a map shows, and its division into cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "core/compare/error_measure.h"
#include "core/compare/wrong_elements.h"
#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The last two dimensions with more than one coordinate; there may be fewer.
struct MapPlane {
  std::optional<size_t> row_dimension;
  std::optional<size_t> column_dimension;
  int64_t rows = 1;
  int64_t columns = 1;
};

inline MapPlane PlaneOf(const Dims& sizes) {
  MapPlane plane;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (!plane.column_dimension) {
      plane.column_dimension = d;
      plane.columns = sizes[d];
    } else {
      plane.row_dimension = d;
      plane.rows = sizes[d];
      break;
    }
  }
  return plane;
}

// `size` coordinates divided into at most as many `cells`: cell i has [Begin(i), Begin(i + 1)).
struct MapAxis {
  int64_t size;
  int64_t cells;

  int64_t Begin(int64_t cell) const { return cell * size / cells; }
  int64_t CellOf(int64_t coordinate) const { return ((coordinate + 1) * cells - 1) / size; }
};

struct MapGrid {
  MapAxis rows;
  MapAxis columns;

  size_t cell_count() const { return static_cast<size_t>(rows.cells * columns.cells); }
};

// The largest number of cells in each direction.
struct MapLimits {
  int64_t rows;
  int64_t columns;
};

// Returns a cell for each element, if there is room; otherwise limits that keep the proportions of
// the plane, for cells that are `cell_height` times as high as wide. Even a thin plane gets `least`
// cells, if it has that many elements.
inline MapLimits Proportioned(const MapPlane& plane, const MapLimits& most, const MapLimits& least,
                              double cell_height) {
  if (plane.rows <= most.rows && plane.columns <= most.columns) return {plane.rows, plane.columns};
  const double rows = static_cast<double>(plane.rows) / cell_height;
  const double columns = static_cast<double>(plane.columns);
  const double elements =
      std::max(rows / static_cast<double>(most.rows),
               columns / static_cast<double>(most.columns));  // per cell's width
  const auto cells = [&](double size, int64_t fewest, int64_t limit) {
    return std::clamp(static_cast<int64_t>(std::lround(size / elements)), fewest, limit);
  };
  return {cells(rows, least.rows, most.rows), cells(columns, least.columns, most.columns)};
}

// The space in which panels of equal planes are drawn side by side.
struct MapSpace {
  MapLimits most;      // cells in each direction
  MapLimits least;     // cells of a panel, if its plane has as many elements
  MapLimits gap;       // what each panel takes besides its cells
  double cell_height;  // relative to the width
  int64_t most_panels;
  bool is_fixed = false;  // each panel has `least` cells, whatever the others have
};

inline MapLimits LeastOf(const MapPlane& plane, const MapSpace& space) {
  return {std::min(plane.rows, space.least.rows), std::min(plane.columns, space.least.columns)};
}

// Returns how many panels the space has room for, at least one.
inline int64_t MostPanels(const MapPlane& plane, const MapSpace& space) {
  const MapLimits least = LeastOf(plane, space);
  if (space.is_fixed) return space.most_panels;
  const int64_t down = space.most.rows / (least.rows + space.gap.rows);
  const int64_t across = space.most.columns / (least.columns + space.gap.columns);
  return std::clamp<int64_t>(std::max<int64_t>(down, 1) * std::max<int64_t>(across, 1), 1,
                             space.most_panels);
}

struct PanelArrangement {
  int64_t across;   // panels beside one another
  MapLimits cells;  // of each panel
};

// Arranges at most MostPanels panels, so that they have as many cells as possible. Among equals,
// a row has `preferred` panels, or the longer side is the shortest.
inline PanelArrangement Arrange(const MapPlane& plane, int64_t count, int64_t preferred,
                                const MapSpace& space) {
  const MapLimits least = LeastOf(plane, space);
  PanelArrangement best{1, least};
  if (space.is_fixed) return best;
  std::tuple<int64_t, bool, double> best_merit{-1, false, 0};
  for (int64_t across = 1; across <= count; ++across) {
    const int64_t down = (count + across - 1) / across;
    const MapLimits room = {space.most.rows / down - space.gap.rows,
                            space.most.columns / across - space.gap.columns};
    const bool fits = room.rows >= least.rows && room.columns >= least.columns;
    if (!fits && count > 1) continue;
    const MapLimits limits = Proportioned(plane, room, least, space.cell_height);
    const int64_t rows = std::min(limits.rows, plane.rows);
    const int64_t columns = std::min(limits.columns, plane.columns);
    const double longer = std::max(static_cast<double>(down * rows) * space.cell_height,
                                   static_cast<double>(across * columns));
    const std::tuple merit{rows * columns, across == preferred, -longer};
    if (merit <= best_merit) continue;
    best_merit = merit;
    best = {across, limits};
  }
  return best;
}

// Divides the plane into as many cells as it has elements, or as the limits allow.
inline MapGrid GridOf(const MapPlane& plane, const MapLimits& limits) {
  return {{plane.rows, std::min(plane.rows, limits.rows)},
          {plane.columns, std::min(plane.columns, limits.columns)}};
}

// --- differences ---------------------------------------------------------------------------------

// Maps of where two tensors differ: a grid for each plane of the last two dimensions.

struct DifferenceCell {
  int64_t count = 0;          // of elements that do not pass
  double worst = 0;           // their largest error, apart from mismatches
  bool has_mismatch = false;  // one of them is NaN or infinite on one side only
};

struct DifferencePanel {
  Dims at;  // coordinates of the dimensions before the plane's; a tensor of one plane has none
  std::vector<DifferenceCell> cells;  // row by row
};

class DifferenceMap {
 public:
  // Draws all planes or, if these are many, the first that have elements that do not pass. `sizes`
  // are the tensors', without any 0.
  DifferenceMap(const Dims& sizes, const WrongElements& wrong, const ElementError& error,
                ErrorMeasure measure, const MapSpace& space);

  const MapPlane& plane() const { return plane_; }
  const MapGrid& grid() const { return grid_; }
  ErrorMeasure measure() const { return measure_; }
  const std::vector<DifferencePanel>& panels() const { return panels_; }
  int64_t panels_across() const { return across_; }

  // Return the numbers of planes, and of those that have elements that do not pass.
  int64_t plane_count() const { return plane_count_; }
  int64_t different_count() const { return different_count_; }
  bool passes() const { return different_count_ == 0; }

  // Returns the share of a cell's elements that do not pass.
  double share(const DifferencePanel& panel, int64_t row, int64_t column) const;

  const DifferenceCell& cell(const DifferencePanel& panel, int64_t row, int64_t column) const {
    return panel.cells[static_cast<size_t>(row * grid_.columns.cells + column)];
  }

 private:
  std::vector<int64_t> PlanesToShow(const WrongElements& wrong, int64_t most);
  void Fill(const WrongElements& wrong, const ElementError& error, int64_t number,
            DifferencePanel& panel) const;

  MapPlane plane_;
  ErrorMeasure measure_;
  int64_t plane_count_;
  int64_t different_count_ = 0;
  int64_t across_ = 1;
  MapGrid grid_{};
  std::vector<DifferencePanel> panels_;
};

// --- values --------------------------------------------------------------------------------------

// A plane of a tensor at low resolution: the mean of each cell's values.

struct ValueCell {
  double mean = 0.0;  // mean of the finite values, as doubles
  bool has_finite = false;
  bool has_nan = false;
  bool has_positive_infinity = false;
  bool has_negative_infinity = false;
};

// The range of the cells' means, so that a picture uses the whole scale.
struct ValueRange {
  double min;
  double max;

  // Returns 0 at the minimum, 1 at the maximum; 0.5 if they are equal.
  double Position(double value) const;
};

struct ValueMap {
  DataType type;  // type of the values
  MapGrid grid;
  std::optional<ValueRange> range;  // empty if no value is finite
  std::vector<ValueCell> cells;     // row by row
};

// Shows the plane PlaneOf(view.layout.sizes) at the first coordinate of all other dimensions. The
// view must have elements.
ValueMap ComputeValueMap(const ConstTensorView& view, const MapLimits& limits);

}  // namespace dmlop
