// Sums of exponentials in binary64, relative to the largest exponent so far, that know how far off
// they may be.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensor/half.h"

namespace dmlop {

// Sums of groups side by side: the sum of e^x over group i is about sum[i] * e^max[i], where max[i]
// is an element that no other exceeds by more than kHeadroom; sum[i] is at least 1, within its
// bound, or almost 0 if all elements are -infinity. A group that met NaN or +infinity has a sum or
// a max that is not finite.
struct ExpSums {
  // Of a finite sum of at most 2^16 terms. Those of FLOAT32 are within 2^-37. The additions lose
  // 2^-53 of the sum each, 2^-37 in all. Moving the sum to a new maximum loses 2^-52 + 2^-53 of
  // what the sum was: if that happens at every term, half of 2^16 times as much of what the sum
  // becomes, 2^-36.4.
  //
  // Those of FLOAT16 are exponentials in binary32, within 2^-20.7, of differences of up to
  // kHeadroom, which rounding leaves within 2^-21; at most eight are added in binary32, which loses
  // 2^-21. All in all that is 2^-19.3.
  template <typename T>
  static constexpr double kRelativeBound = std::is_same_v<T, Half> ? 0x1p-19 : 0x1p-35;

  // Moving a sum takes longer than adding to it, and terms of up to e^16 are as exact as others.
  static constexpr double kHeadroom = 16;

  static constexpr float kStartMax = -std::numeric_limits<float>::max();

  ExpSums From(int64_t i) const { return {max + i, sum + i}; }

  float* max;   // starts at kStartMax
  double* sum;  // starts at 0
};

template <typename T>
struct ExpSumKernels {
  // Adds `count` neighbours in memory to the one group of `sums`.
  void (*add_row)(const T* x, int64_t count, const ExpSums& sums);

  // Adds `rows` rows, `row_stride` elements apart, of `columns` neighbours: one to each group.
  void (*add_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                      const ExpSums& sums);
};

// T is float or Half.
template <typename T>
ExpSumKernels<T> ExpSumKernelsFor();

}  // namespace dmlop
