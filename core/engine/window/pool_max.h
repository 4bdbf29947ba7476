// SPDX-License-Identifier: Apache-2.0
// Maxima of windows, the places of these, and the gradient.
//
// -0 is less than +0, and NaN is ignored; if all elements are NaN, so is the maximum, and the first
// tap wins. A window without taps has the least value of its type (-infinity for floats), and the
// index -1, that is, all bits are 1.
#pragma once

#include "core/engine/window/pool_windows.h"

namespace dmlop {

// Computes the part of an output from index `begin` on. Elements are FLOAT32, FLOAT16 or integers
// of at least 8 bits.
void FindMaxima(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                const TensorView& maxima);

// Also finds the winners: the number in the whole input of the first greatest element of each
// window in row-major order, modulo 2^width of its type, which is UINT32 or UINT64. `maxima`
// without data are not computed.
void FindWinners(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                 const TensorView& maxima, const TensorView& winners);

// --- the gradient --------------------------------------------------------------------------------

// Computes the part of an output, which has the input's sizes, from index `begin` on: for each
// element the exact sum, rounded once, of the gradients of the windows that it wins, or +0 if it
// wins none. All tensors are FLOAT32 or FLOAT16.
void SumOfWinners(const PoolDims& dims, const ConstTensorView& input,
                  const ConstTensorView& gradient, const Dims& begin, const TensorView& sums);

}  // namespace dmlop
