// SPDX-License-Identifier: Apache-2.0
// Computes sums over rows of slices, and their normalized elements.
#pragma once

#include <cstdint>

#include "core/exact/error_free.h"

namespace dmlop {

// An operand of a row: one value for each element, one for all, or none if null.
template <typename T>
struct RowTerm {
  const T* elements = nullptr;
  bool varies = false;
};

template <typename T>
struct NormalizeKernels {
  // Returns the sum of x, within 2^-88 of the sum of magnitudes for 2^12 elements. If the sum is
  // not finite, the tail is 0.
  HeadTail (*sum)(const T* x, int64_t count);
  // Returns the sum of |x|.
  double (*sum_magnitudes)(const T* x, int64_t count);
  // Returns the sum of (x - mean)^2.
  double (*sum_squares)(const T* x, int64_t count, HeadTail mean);
  // Returns the sum of g * (x - mean), as accurate as `sum`.
  HeadTail (*sum_products)(const T* g, const T* x, int64_t count, HeadTail mean);

  // Computes y = (x - mean) * scale * factor + bias + addend, rounded once.
  void (*normalize)(const T* x, int64_t count, HeadTail mean, double factor, RowTerm<T> scale,
                    RowTerm<T> bias, RowTerm<T> addend, T* y);
  // Computes y = (x - mean) * factors + bias, rounded once, with a factor for each element.
  void (*scale)(const T* x, int64_t count, RowTerm<T> mean, const double* factors, RowTerm<T> bias,
                T* y);
  // Computes y = ((g - g_mean) - (x - x_mean) * slope) * factor, rounded once.
  void (*take_slope)(const T* g, const T* x, int64_t count, HeadTail g_mean, HeadTail x_mean,
                     double slope, double factor, T* y);
};

// T is float or Half.
template <typename T>
const NormalizeKernels<T>& NormalizeKernelsFor();

}  // namespace dmlop
