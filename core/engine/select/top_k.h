// The first elements along an axis, in order.
#pragma once

#include <cstddef>

#include "core/tensor/tensor.h"

namespace dmlop {

// Writes as many values, and their places along the axis, as the outputs have room for: numbers in
// rising or falling order, then NaN; of equals, the one with the lower place first. `places` are of
// 32 or 64 bits.
void SelectFirst(size_t axis, bool falling, const ConstTensorView& input, const TensorView& values,
                 const TensorView& places);

}  // namespace dmlop
