// SPDX-License-Identifier: Apache-2.0
// The plane of a tensor that a map shows, and its division into cells.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/tensor/dims.h"

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

// Returns limits that keep the proportions of the plane, for cells that are `cell_height` times as
// high as wide. Even a thin plane gets `least` cells, if it has that many elements.
inline MapLimits Proportioned(const MapPlane& plane, const MapLimits& most, const MapLimits& least,
                              double cell_height) {
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

// Divides the plane into as many cells as it has elements, or as the limits allow.
inline MapGrid GridOf(const MapPlane& plane, const MapLimits& limits) {
  return {{plane.rows, std::min(plane.rows, limits.rows)},
          {plane.columns, std::min(plane.columns, limits.columns)}};
}

}  // namespace dmlop
