// SPDX-License-Identifier: Apache-2.0
// Selects elements: the first ones along an axis, in order, or those that are not zero.
#pragma once

#include <cstddef>

#include "core/tensor/tensor.h"

namespace dmlop {

// Writes as many values as the outputs have room for, with their places along the axis: numbers in
// rising or falling order, then NaN; among equals, the lower place comes first. `places` has 32-bit
// or 64-bit elements.
void SelectFirst(size_t axis, bool falling, const ConstTensorView& input, const TensorView& values,
                 const TensorView& places);

// --- elements that are not zero ------------------------------------------------------------------

// Writes the last coordinates of each nonzero element, in row-major order, into a row of
// `coordinates` and zeros into the remaining rows, and the number of nonzero elements into `count`.
// -0 is zero, NaN is not. Both outputs are UINT32; the last two dimensions of `coordinates` are
// rows and their columns.
void FindNonzero(const ConstTensorView& input, const TensorView& count,
                 const TensorView& coordinates);

}  // namespace dmlop
