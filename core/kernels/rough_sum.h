// Sums in binary64 that know how far off they may be. Where the bound leaves no doubt about the
// rounding to the result's type, a rough sum is as good as an exact one, in any order of addition.
#pragma once

#include <cstdint>

#include "core/tensor/half.h"

namespace dmlop {

// What is added up for each element x.
enum class SumTerm { kItself, kMagnitude, kSquare };

// Sums of `count` groups side by side. The exact sum of n terms of group i is within
// kRelativeBound * (the sum of their magnitudes) of head[i] + tail[i], and |tail| is small against
// |head|. A group that met NaN or an infinity has a head that is not finite, or a peak that is not.
struct RoughSums {
  // Eight terms are added pairwise with three roundings, 2^-53 each; what follows keeps its own
  // rounding errors. The rest is room for the errors of the errors.
  static constexpr double kRelativeBound = 0x1p-50;

  double* head;    // starts at -0, so that a sum of only -0 is -0
  double* tail;    // starts at 0
  uint32_t* peak;  // bits of the largest |x| as binary32, kept for kItself only; starts at 0
};

template <typename T>
struct RoughSumKernels {
  // Adds `count` neighbours in memory to the one group of `sums`.
  void (*add_row)(const T* x, int64_t count, const RoughSums& sums);

  // Adds `rows` rows, `row_stride` elements apart, of `columns` neighbours: one to each group.
  void (*add_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                      const RoughSums& sums);
};

// T is float or Half.
template <typename T>
RoughSumKernels<T> RoughSumKernelsFor(SumTerm term);

}  // namespace dmlop
