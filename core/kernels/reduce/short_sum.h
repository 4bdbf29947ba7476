// Sums of a few terms, from the elements to the function's result: mostly such a sum is exact in
// binary64, and where it is not, a bound tells whether its rounding is unresolved.
#pragma once

#include <cstdint>

#include "core/kernels/reduce/sum_map.h"

namespace dmlop {

inline constexpr int64_t kMaxShortRow = 1024;    // elements, neighbours in memory
inline constexpr int64_t kMaxShortColumn = 128;  // others

// Stores the result of each group, or sets its `unresolved` to 1.
template <typename T>
struct ShortSumKernels {
  // Takes `rows` rows, `pitch` elements apart, of `count` neighbours, at most kMaxShortRow. Each
  // row is a group.
  void (*sum_rows)(const T* x, int64_t count, int64_t pitch, int64_t rows, T* results,
                   uint8_t* unresolved);

  // Takes `rows` rows, at most kMaxShortColumn, `row_stride` elements apart, of `columns`
  // neighbours. Each column is a group.
  void (*sum_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* results,
                      uint8_t* unresolved);
};

// T is float or Half.
template <typename T>
ShortSumKernels<T> ShortSumKernelsFor(SumMap map, SumFinalizer finalizer);

}  // namespace dmlop
