// Where indices lead to along a dimension.
#pragma once

#include <cstdint>

namespace dmlop {

// Adds to each offset the place of its index in a dimension of `size`, times the stride.
template <typename T>
using AddPlacesFunction = void (*)(int64_t count, const T* indices, int64_t size, int64_t stride,
                                   int64_t* offsets);

template <typename T>
AddPlacesFunction<T> AddPlacesForIsa();

}  // namespace dmlop
