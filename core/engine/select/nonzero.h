// SPDX-License-Identifier: Apache-2.0
// Finds elements that are not zero.
#pragma once

#include "core/tensor/tensor.h"

namespace dmlop {

// Writes the last coordinates of each nonzero element, in row-major order, into a row of
// `coordinates` and zeros into the remaining rows, and the number of nonzero elements into `count`.
// -0 is zero, NaN is not. Both outputs are UINT32; the last two dimensions of `coordinates` are
// rows and their columns.
void FindNonzero(const ConstTensorView& input, const TensorView& count,
                 const TensorView& coordinates);

}  // namespace dmlop
