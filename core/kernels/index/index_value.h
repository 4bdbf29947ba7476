// SPDX-License-Identifier: Apache-2.0
// Index tensors: the meaning of a number of any of their types along a dimension.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

#include "core/tensor/visit_data_type.h"

namespace dmlop {

using IndexTypes = Join<Integers64, Integers32>;

struct ResolvedIndex {
  int64_t place;  // in [0, size - 1]
  bool is_inside;
};

// A negative index counts from the end; one that is outside of the dimension stands for its nearest
// end (IDX-2). No size exceeds 2^32.
template <std::integral T>
ResolvedIndex ResolveIndex(T index, int64_t size) {
  if constexpr (std::unsigned_integral<T>) {
    const bool is_inside = index < static_cast<uint64_t>(size);
    return {is_inside ? static_cast<int64_t>(index) : size - 1, is_inside};
  } else {
    const int64_t from_start = index < 0 ? int64_t{index} + size : int64_t{index};
    const int64_t place = std::clamp<int64_t>(from_start, 0, size - 1);
    return {place, place == from_start};
  }
}

// Converts a count, such as a length; saturates at the greatest int64_t.
template <std::unsigned_integral T>
int64_t CountOf(T count) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min<uint64_t>(count, kMost));
}

// --- places --------------------------------------------------------------------------------------

// Converts indices along a dimension to offsets.

// Adds the position of each index in a dimension of `size`, times the stride, to its offset.
template <typename T>
using AddPlacesFunction = void (*)(int64_t count, const T* indices, int64_t size, int64_t stride,
                                   int64_t* offsets);

template <typename T>
AddPlacesFunction<T> AddPlacesForIsa();

}  // namespace dmlop
