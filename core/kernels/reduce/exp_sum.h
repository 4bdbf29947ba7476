// SPDX-License-Identifier: Apache-2.0
// Sums of exponentials in binary64, relative to the largest exponent so far, with a known error
// bound.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensor/half.h"

namespace dmlop {

// Sums of adjacent groups: the sum of e^x over group i is about sum[i] * e^max[i], where max[i] is
// an element that no other exceeds by more than kHeadroom; sum[i] is at least 1, within its bound,
// or almost 0 if all elements are -infinity. If a group met NaN or +infinity, its sum or max is not
// finite.
struct ExpSums {
  // Bounds the error of a finite sum of at most 2^16 terms. Terms of FLOAT32 are within 2^-37. The
  // additions lose 2^-53 of the sum each, 2^-37 in all. Moving the sum to a new maximum loses 2^-52
  // + 2^-53 of the old sum; if every term does that, it is half of 2^16 times as much of the final
  // sum, 2^-36.4.
  //
  // Terms of FLOAT16 are exponentials in binary32, within 2^-20.7, of differences of up to
  // kHeadroom, whose rounding adds 2^-21; at most eight are added in binary32, which loses 2^-21.
  // In all, that is 2^-19.3.
  template <typename T>
  static constexpr double kRelativeBound = std::is_same_v<T, Half> ? 0x1p-19 : 0x1p-35;

  // Moving a sum takes longer than adding to it, and terms of up to e^16 are as accurate as others.
  static constexpr double kHeadroom = 16;

  static constexpr float kStartMax = -std::numeric_limits<float>::max();

  ExpSums From(int64_t i) const { return {max + i, sum + i}; }

  float* max;   // starts at kStartMax
  double* sum;  // starts at 0
};

template <typename T>
struct ExpSumKernels {
  // Adds `count` adjacent elements to the one group of `sums`.
  void (*add_row)(const T* x, int64_t count, const ExpSums& sums);

  // Adds `rows` rows, `row_stride` elements apart, of `columns` adjacent elements, one for each
  // group.
  void (*add_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                      const ExpSums& sums);
};

// T is float or Half.
template <typename T>
ExpSumKernels<T> ExpSumKernelsFor();

// --- fixed point ---------------------------------------------------------------------------------

// Sums of exponentials in fixed point, relative to the largest exponent. They have the same bits in
// any order and on every instruction set.

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
