// SPDX-License-Identifier: Apache-2.0
// A plane of a tensor at low resolution: the mean of each cell's values.
#pragma once

#include <optional>
#include <vector>

#include "core/compare/map_plane.h"
#include "core/tensor/tensor.h"

namespace dmlop {

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
