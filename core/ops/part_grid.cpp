// SPDX-License-Identifier: Apache-2.0
#include "core/ops/part_grid.h"

#include <algorithm>

#include "core/base/integers.h"

namespace dmlop {

PartGrid::PartGrid(const Dims& sizes, int64_t max_elements)
    : sizes_(sizes), dim_(sizes.size() - 1) {
  int64_t inner = 1;  // elements per index of the dimension
  while (dim_ > 0 && inner * sizes[dim_] <= max_elements) inner *= sizes[dim_--];
  const int64_t longest = std::max<int64_t>(1, max_elements / inner);
  range_ = CeilDiv(sizes[dim_], CeilDiv(sizes[dim_], longest));
  grid_ = Dims(sizes.begin(), sizes.begin() + dim_);
  grid_.push_back(CeilDiv(sizes[dim_], range_));
}

Region PartGrid::PartAt(int64_t number) const {
  const Dims place = IndexOf(grid_, number);
  Region part{0, Dims::Filled(sizes_.size(), 0), sizes_};
  for (size_t d = 0; d < dim_; ++d) {
    part.begin[d] = place[d];
    part.sizes[d] = 1;
  }
  part.begin[dim_] = place[dim_] * range_;
  part.sizes[dim_] = std::min(range_, sizes_[dim_] - part.begin[dim_]);
  return part;
}

}  // namespace dmlop
