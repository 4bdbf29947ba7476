// A tensor cut into parts that lie without gaps in it, where it has none itself: the dimensions
// before one into single indices, that one into ranges.
#pragma once

#include "core/ops/family.h"

namespace dmlop {

class PartGrid {
 public:
  // A part has at most `max_elements`, but at least one.
  PartGrid(const Dims& sizes, int64_t max_elements);

  int64_t count() const { return Product(grid_); }
  Region PartAt(int64_t number) const;

  // Of the largest part.
  int64_t elements() const { return PartAt(0).count(); }

 private:
  Dims sizes_;
  size_t dim_;     // that is cut into ranges
  int64_t range_;  // along it
  Dims grid_;      // how many parts lie along each dimension up to that one
};

}  // namespace dmlop
