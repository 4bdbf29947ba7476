// SPDX-License-Identifier: Apache-2.0
// The positions of a tensor's elements: sizes, and the stride of each dimension in elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/tensor/dims.h"

namespace dmlop {

struct Layout {
  Dims sizes;
  Dims strides;  // in elements; 0 repeats a single element along that dimension

  size_t rank() const { return sizes.size(); }
  int64_t element_count() const { return Product(sizes); }

  friend bool operator==(const Layout& a, const Layout& b) = default;
};

// "{1, 3}"
std::string ToString(const Dims& dims);

// Return row-major strides without gaps (BUF-5), and column-major ones, as in Fortran order.
Dims PackedStrides(const Dims& sizes);
Dims FortranStrides(const Dims& sizes);

inline Layout PackedLayout(const Dims& sizes) {
  return {sizes, PackedStrides(sizes)};
}

// The strides that repeat a layout's elements to other sizes, as NumPy broadcasts them; nothing if
// it does not.
std::optional<Dims> BroadcastStrides(const Layout& layout, const Dims& to);

// Whether the elements lie in row-major order without gaps. Dimensions of size 1 do not matter.
bool IsPacked(const Layout& layout);

// Counts elements from the first to the last addressed one. Strides must not be negative.
int64_t Extent(const Layout& layout);

// Returns the offset in elements of the element at `index`.
int64_t OffsetOf(const Layout& layout, const Dims& index);

// Whether two distinct coordinates share an offset (BUF-8). Exact; strides must not be negative.
bool HasOverlap(const Layout& layout);

// Returns the index of the element whose row-major number is `linear`.
Dims IndexOf(const Dims& sizes, int64_t linear);

// Returns the offset in elements of the element whose row-major number is `linear`.
inline int64_t OffsetOfElement(const Layout& layout, int64_t linear) {
  return OffsetOf(layout, IndexOf(layout.sizes, linear));
}

// Moves `index` to the next element in row-major order, and from the last one to the first.
inline void Advance(const Dims& sizes, Dims& index) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return;
    index[d] = 0;
  }
}

}  // namespace dmlop
