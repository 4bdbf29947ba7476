// SPDX-License-Identifier: Apache-2.0
// Moves tiles of elements from one layout to another. Only the width of an element matters.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dmlop {

// A tile of outer x inner elements; strides in elements. The inner loop walks along the
// destination.
struct CopyTile {
  int64_t outer_count;
  int64_t inner_count;
  int64_t to_outer_stride;
  int64_t to_inner_stride;
  int64_t from_outer_stride;
  int64_t from_inner_stride;
};

// Source and destination must not overlap, unless they are the same elements in the same layout.
using CopyTileFunction = void (*)(const CopyTile& tile, std::byte* to, const std::byte* from);

// Returns the function for elements of 1, 2, 4 or 8 bytes.
CopyTileFunction CopyTileFor(size_t element_width);

}  // namespace dmlop
