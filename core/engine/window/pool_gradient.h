// SPDX-License-Identifier: Apache-2.0
// The gradient of the maxima of windows.
#pragma once

#include "core/engine/window/pool_windows.h"

namespace dmlop {

// Computes the part of an output, which has the input's sizes, from index `begin` on: for each
// element the exact sum, rounded once, of the gradients of the windows that it wins, or +0 if it
// wins none. All tensors are FLOAT32 or FLOAT16.
void SumOfWinners(const PoolDims& dims, const ConstTensorView& input,
                  const ConstTensorView& gradient, const Dims& begin, const TensorView& sums);

}  // namespace dmlop
