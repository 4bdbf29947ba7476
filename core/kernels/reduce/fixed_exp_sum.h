// SPDX-License-Identifier: Apache-2.0
// Sums of exponentials in fixed point, relative to the largest exponent. They have the same bits in
// any order and on every instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/tensor/half.h"

namespace dmlop {

// Sums of adjacent groups, of at most 2^16 terms each: that of e^(x - max[i]) over group i is
// high[i] * 2^-46 + low[i] * 2^-92, within kRelativeBound of it and 2^-93 for each term. max[i] is
// the largest x; if that is not finite, the sum means nothing.
struct FixedExpSums {
  // A hundredth of the smallest step of FLOAT16 is 2^-30.7.
  template <typename T>
  static constexpr double kRelativeBound = std::is_same_v<T, Half> ? 0x1p-34 : 0x1p-49;

  static constexpr double kHighUnit = 0x1p-46;
  static constexpr double kLowUnit = 0x1p-92;

  const double* max;
  int64_t* high;  // starts at 0
  int64_t* low;   // starts at 0
};

template <typename T>
struct FixedExpSumKernels {
  // Raises *max to the largest of `count` adjacent elements; NaN if one of them is.
  void (*max_row)(const T* x, int64_t count, double* max);

  // Does the same for `rows` rows, `row_stride` elements apart, of `columns` adjacent elements,
  // with a maximum for each column.
  void (*max_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns, double* max);

  // Adds `count` adjacent elements to the one group of `sums`.
  void (*add_row)(const T* x, int64_t count, const FixedExpSums& sums);

  // Adds `rows` rows, `row_stride` elements apart, of `columns` adjacent elements, one for each
  // group.
  void (*add_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                      const FixedExpSums& sums);
};

// T is float or Half.
template <typename T>
FixedExpSumKernels<T> FixedExpSumKernelsFor();

}  // namespace dmlop
