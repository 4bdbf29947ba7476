// SPDX-License-Identifier: Apache-2.0
// Maps of where two tensors differ: a grid for each plane of the last two dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/compare/error_measure.h"
#include "core/compare/map_plane.h"
#include "core/compare/wrong_elements.h"
#include "core/tensor/dims.h"

namespace dmlop {

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

}  // namespace dmlop
