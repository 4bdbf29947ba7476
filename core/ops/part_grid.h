// SPDX-License-Identifier: Apache-2.0
// Divides a packed tensor into contiguous parts: one dimension is cut into ranges, and those before
// it into single indices.
#pragma once

#include "core/ops/family.h"

namespace dmlop {

class PartGrid {
 public:
  // A part has at most `max_elements`, but at least one.
  PartGrid(const Dims& sizes, int64_t max_elements);

  int64_t count() const { return Product(grid_); }
  Region PartAt(int64_t number) const;

  // The number of elements of the largest part.
  int64_t elements() const { return PartAt(0).count(); }

 private:
  Dims sizes_;
  size_t dim_;     // the dimension cut into ranges
  int64_t range_;  // length of a range
  Dims grid_;      // number of parts along each dimension up to that one
};

}  // namespace dmlop
