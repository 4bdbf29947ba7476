// SPDX-License-Identifier: Apache-2.0
// Sums in binary64 with a known error bound. If the bound leaves only one rounding to the result's
// type, such a sum is as good as an exact one, in any order of addition.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/sum_map.h"
#include "core/tensor/half.h"

namespace dmlop {

// Sums of adjacent groups. The exact sum of n terms of group i is within kRelativeBound * (the sum
// of their magnitudes) of head[i] + tail[i], and |tail| is small compared with |head|. If a group
// met NaN or an infinity, its head is what IEEE 754 makes of it.
struct ApproximateSums {
  double* head;    // starts at -0, so that a sum of only -0 is -0
  double* tail;    // starts at 0
  uint32_t* peak;  // bits of the largest |x| as binary32, if needed, or else room for add_columns;
                   // starts at 0
  double* block = nullptr;  // room for add_columns

  // Returns the same from group i on.
  ApproximateSums From(int64_t i) const { return {head + i, tail + i, peak + i, block + i}; }
};

// At most 64 terms are added with ten roundings in a row, 2^-53 each: three for eight terms, which
// are added pairwise, and seven for eight such sums. Later additions keep their rounding errors.
// The rest is room for the errors of the errors.
template <typename T, SumMap kMap>
inline constexpr double kRelativeBound = 0x1p-49;

// FLOAT16 values are multiples of 2^-24 below 2^16. 64 of them need 46 bits, and the rounding
// errors of 2^33 terms in all, at most 2^-4 each, add up to less than 2^53 such multiples.
template <>
inline constexpr double kRelativeBound<Half, SumMap::kItself> = 0;
template <>
inline constexpr double kRelativeBound<Half, SumMap::kMagnitude> = 0;

// Squares of FLOAT16 are exact in binary32, where eight are added pairwise with three roundings in
// a row, 2^-24 each.
template <>
inline constexpr double kRelativeBound<Half, SumMap::kSquare> = 0x1.9p-23;

// Only inexact sums of terms of either sign need the largest magnitude.
template <typename T, SumMap kMap>
inline constexpr bool kNeedsPeak = kMap == SumMap::kItself&& kRelativeBound<T, kMap> != 0;

template <typename T>
struct ApproximateSumKernels {
  // Adds `count` adjacent elements to the one group of `sums`.
  void (*add_row)(const T* x, int64_t count, const ApproximateSums& sums);

  // Adds `rows` rows, `row_stride` elements apart, of `columns` adjacent elements, one for each
  // group.
  void (*add_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                      const ApproximateSums& sums);
};

// T is float or Half.
template <typename T>
ApproximateSumKernels<T> ApproximateSumKernelsFor(SumMap map);

// Stores the results of `groups` groups of `count` terms each, and sets their `unresolved` to 0; or
// to 1 if the bound leaves the result open, and for the last groups, which do not fill a vector.
template <typename T>
using FinalizeSumsFunction = void (*)(const ApproximateSums& sums, int64_t groups, int64_t count,
                                      T* results, uint8_t* unresolved);

template <typename T>
FinalizeSumsFunction<T> FinalizeSumsFor(SumMap map, SumFinalizer finalizer);

// --- short sums ----------------------------------------------------------------------------------

// Sums of a few terms, up to the function's result. Mostly such a sum is exact in binary64;
// otherwise a bound tells whether its rounding is unresolved.

inline constexpr int64_t kMaxShortRow = 1024;    // elements, adjacent in memory
inline constexpr int64_t kMaxShortColumn = 128;  // elements, any others

// Stores the result of each group, or sets its `unresolved` to 1.
template <typename T>
struct ShortSumKernels {
  // Takes `rows` rows, `pitch` elements apart, of `count` adjacent elements, at most kMaxShortRow.
  // Each row is a group.
  void (*sum_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, T* results,
                   uint8_t* unresolved);

  // Takes `rows` rows, at most kMaxShortColumn, `row_stride` elements apart, of `columns` adjacent
  // elements. Each column is a group.
  void (*sum_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* results,
                      uint8_t* unresolved);
};

// T is float or Half.
template <typename T>
ShortSumKernels<T> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
