// SPDX-License-Identifier: Apache-2.0
// Sums over the taps of adjacent windows, up to the function's result. Mostly such a sum is exact
// in binary64; otherwise a bound tells whether its rounding is unresolved.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/sum_map.h"
#include "core/kernels/window/pool_row.h"

namespace dmlop {

inline constexpr int64_t kMaxPoolDivisor = 1 << 20;

// Stores the result of each window, or sets its `unresolved` to 1. `divisor` is the divisor of
// averages, at most kMaxPoolDivisor.
template <typename T>
using PoolSumKernel = void (*)(const PoolRow<T>& row, int64_t divisor, T* results,
                               uint8_t* unresolved);

// T is float or Half. An average is of elements themselves, a square root of the sum of their
// squares.
template <typename T>
PoolSumKernel<T> PoolSumKernelFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
