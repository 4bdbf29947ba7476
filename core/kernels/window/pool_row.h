// SPDX-License-Identifier: Apache-2.0
// Pooling kernels.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/kernels/reduce/min_max.h"
#include "core/kernels/reduce/sum_map.h"

namespace dmlop {

inline constexpr int64_t kMaxPoolTaps = 1024;

// Adjacent windows that have the same taps, `step` elements apart.
template <typename T>
struct PoolRow {
  const T* x;  // the first tap of the first window
  int64_t step;
  int64_t count;                     // number of windows
  std::span<const int64_t> offsets;  // offsets of taps from the first one; at most kMaxPoolTaps
};

// Loops over the taps of a window of at most three spatial dimensions, the last one innermost.
struct TapLoops {
  std::array<int64_t, 3> sizes = {1, 1, 1};
  std::array<int64_t, 3> steps{};

  int64_t count() const { return sizes[0] * sizes[1] * sizes[2]; }
};

// --- the greatest tap of each window -------------------------------------------------------------

// Stores each window's greatest tap, by keys that have the bits of `flipped` flipped.
template <typename T>
using PoolMaxKernel = void (*)(const PoolRow<T>& row, KeyOf<T> flipped, T* maxima);

// T is float, Half or a signed integer of 8 to 64 bits.
template <typename T>
PoolMaxKernel<T> PoolMaxKernelFor();

// Stores the key of each window's greatest tap, and the number of the first tap with that key.
using PoolWinnerKernel = void (*)(const PoolRow<float>& row, KeyOf<float>* keys, int32_t* taps);

PoolWinnerKernel PoolWinnerKernelFor();

// --- sums over the taps --------------------------------------------------------------------------

// Mostly such a sum is exact in binary64; otherwise a bound tells whether its rounding is
// unresolved.

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

// Stores the sum of each window's taps.
template <typename T>
using IntegerPoolSumKernel = void (*)(const PoolRow<T>& row, int64_t* sums);

// T is int8_t or uint8_t.
template <typename T>
IntegerPoolSumKernel<T> IntegerPoolSumKernelFor();

}  // namespace dmlop
