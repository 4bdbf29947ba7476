// SPDX-License-Identifier: Apache-2.0
// Sums of a few terms, up to the function's result. Mostly such a sum is exact in binary64;
// otherwise a bound tells whether its rounding is unresolved.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/sum_map.h"

namespace dmlop {

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
