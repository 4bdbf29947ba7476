// The greatest elements of windows, and where they are.
//
// -0 is less than +0, and NaN is skipped; a window of nothing else has NaN, of its first tap. One
// without taps has the least value of its type, -infinity of floats, and the index -1, which is all
// ones.
#pragma once

#include "core/engine/window/pool_windows.h"

namespace dmlop {

// Computes the part of an output from index `begin` on. Elements are FLOAT32, FLOAT16 or integers
// of 8 bits and more.
void FindMaxima(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                const TensorView& maxima);

// The same with the winners: the first of the greatest elements of a window in row-major order, as
// its number in the whole input, modulo 2^width of their type, which is UINT32 or UINT64. `maxima`
// without data are not wanted.
void FindWinners(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                 const TensorView& maxima, const TensorView& winners);

}  // namespace dmlop
