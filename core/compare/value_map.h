// A plane of a tensor seen from afar: the mean of each cell's values.
#pragma once

#include <optional>
#include <vector>

#include "core/compare/map_plane.h"
#include "core/tensor/tensor.h"

namespace dmlop {

struct ValueCell {
  double mean = 0.0;  // of the finite values, as doubles
  bool has_finite = false;
  bool has_nan = false;
  bool has_positive_infinity = false;
  bool has_negative_infinity = false;
};

// Of the cells' means, so that what is drawn has all of the scale.
struct ValueRange {
  double min;
  double max;

  // 0 at the minimum, 1 at the maximum; 0.5 where they are one.
  double Position(double value) const;
};

struct ValueMap {
  DataType type;  // of the values
  MapGrid grid;
  std::optional<ValueRange> range;  // empty where no value is finite
  std::vector<ValueCell> cells;     // row by row
};

// The plane PlaneOf(view.layout.sizes) where the other dimensions are at their first coordinate.
// The view has elements.
ValueMap ComputeValueMap(const ConstTensorView& view, const MapLimits& limits);

}  // namespace dmlop
