// Sums over the taps of windows side by side, from the elements to the function's result: mostly
// such a sum is exact in binary64, and where it is not, a bound tells whether its rounding is
// unresolved.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/sum_map.h"
#include "core/kernels/window/pool_row.h"

namespace dmlop {

inline constexpr int64_t kMaxPoolDivisor = 1 << 20;

// Stores the result of each window, or sets its `unresolved` to 1. `divisor` is that of averages,
// at most kMaxPoolDivisor.
template <typename T>
using PoolSumKernel = void (*)(const PoolRow<T>& row, int64_t divisor, T* results,
                               uint8_t* unresolved);

// T is float or Half. AVERAGE is of elements themselves, the square root of their squares.
template <typename T>
PoolSumKernel<T> PoolSumKernelFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
