// Sums over the taps of windows side by side, from the elements to the function's result: mostly
// such a sum is exact in binary64, and where it is not, a bound tells whether its rounding is
// unresolved.
#pragma once

#include <cstdint>
#include <span>

#include "core/kernels/reduce/sum_map.h"

namespace dmlop {

inline constexpr int64_t kMaxPoolTaps = 1024;
inline constexpr int64_t kMaxPoolDivisor = 1 << 20;

// Windows that have the same taps, `step` elements apart.
template <typename T>
struct PoolRow {
  const T* x;  // the first tap of the first window
  int64_t step;
  int64_t count;                     // windows
  std::span<const int64_t> offsets;  // of taps from the first one, at most kMaxPoolTaps
  int64_t divisor;                   // of averages, at most kMaxPoolDivisor
};

// Stores the result of each window, or sets its `unresolved` to 1.
template <typename T>
using PoolSumKernel = void (*)(const PoolRow<T>& row, T* results, uint8_t* unresolved);

// T is float or Half. AVERAGE is of elements themselves, the square root of their squares.
template <typename T>
PoolSumKernel<T> PoolSumKernelFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
