#include "core/tensor/layout.h"

#include <utility>
#include <vector>

namespace dmlop {
namespace {

// Marks every offset in a bitmap of the extent; true when one is marked twice.
bool MarksAnOffsetTwice(const std::vector<std::pair<int64_t, int64_t>>& dims, int64_t extent) {
  std::vector<bool> marked(static_cast<size_t>(extent));
  std::vector<int64_t> index(dims.size());
  int64_t offset = 0;
  while (true) {
    if (marked[static_cast<size_t>(offset)]) return true;
    marked[static_cast<size_t>(offset)] = true;
    size_t d = 0;
    for (; d < dims.size(); ++d) {
      const auto [stride, size] = dims[d];
      offset += stride;
      if (++index[d] < size) break;
      offset -= stride * size;
      index[d] = 0;
    }
    if (d == dims.size()) return false;
  }
}

}  // namespace

Dims PackedStrides(const Dims& sizes) {
  Dims strides = Dims::Filled(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

Dims FortranStrides(const Dims& sizes) {
  Dims strides = Dims::Filled(sizes.size(), 1);
  for (size_t d = 1; d < sizes.size(); ++d) strides[d] = strides[d - 1] * sizes[d - 1];
  return strides;
}

bool IsPacked(const Layout& layout) {
  const Dims packed = PackedStrides(layout.sizes);
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] != 1 && layout.strides[d] != packed[d]) return false;
  }
  return true;
}

int64_t Extent(const Layout& layout) {
  int64_t last = 0;
  for (size_t d = 0; d < layout.rank(); ++d) last += (layout.sizes[d] - 1) * layout.strides[d];
  return last + 1;
}

int64_t OffsetOf(const Layout& layout, const Dims& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < layout.rank(); ++d) offset += index[d] * layout.strides[d];
  return offset;
}

bool HasOverlap(const Layout& layout) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < layout.rank(); ++d) {
    if (layout.sizes[d] == 1) continue;
    if (layout.strides[d] == 0) return true;
    dims.emplace_back(layout.strides[d], layout.sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t span = 0;  // the largest offset that the dimensions so far can reach
  for (const auto& [stride, size] : dims) {
    if (stride <= span) {
      // More elements than places cannot fit apart; otherwise only looking at each one can tell.
      return layout.element_count() > Extent(layout) || MarksAnOffsetTwice(dims, Extent(layout));
    }
    span += (size - 1) * stride;
  }
  return false;
}

Dims IndexOf(const Dims& sizes, int64_t linear) {
  Dims index = Dims::Filled(sizes.size(), 0);
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = linear % sizes[d];
    linear /= sizes[d];
  }
  return index;
}

}  // namespace dmlop
