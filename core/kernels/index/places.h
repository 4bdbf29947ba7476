// SPDX-License-Identifier: Apache-2.0
// Converts indices along a dimension to offsets.
#pragma once

#include <cstdint>

namespace dmlop {

// Adds the position of each index in a dimension of `size`, times the stride, to its offset.
template <typename T>
using AddPlacesFunction = void (*)(int64_t count, const T* indices, int64_t size, int64_t stride,
                                   int64_t* offsets);

template <typename T>
AddPlacesFunction<T> AddPlacesForIsa();

}  // namespace dmlop
