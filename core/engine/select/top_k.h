// SPDX-License-Identifier: Apache-2.0
// Selects the first elements along an axis, in order.
#pragma once

#include <cstddef>

#include "core/tensor/tensor.h"

namespace dmlop {

// Writes as many values as the outputs have room for, with their places along the axis: numbers in
// rising or falling order, then NaN; among equals, the lower place comes first. `places` has 32-bit
// or 64-bit elements.
void SelectFirst(size_t axis, bool falling, const ConstTensorView& input, const TensorView& values,
                 const TensorView& places);

}  // namespace dmlop
