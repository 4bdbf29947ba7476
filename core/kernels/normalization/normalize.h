// Rows of slices: their sums, and what becomes of their elements.
#pragma once

#include <cstdint>

#include "core/exact/error_free.h"

namespace dmlop {

// What takes part in each element of a row: one for each, one for all, or nothing where it is null.
template <typename T>
struct RowTerm {
  const T* elements = nullptr;
  bool varies = false;
};

template <typename T>
struct NormalizeKernels {
  // The sum of x, within 2^-88 of the sum of magnitudes for 2^12 elements. Where it is no finite
  // number, the tail is 0.
  HeadTail (*sum)(const T* x, int64_t count);
  // The sum of |x|.
  double (*sum_magnitudes)(const T* x, int64_t count);
  // The sum of (x - mean)^2.
  double (*sum_squares)(const T* x, int64_t count, HeadTail mean);
  // The sum of g * (x - mean), as accurate as the first.
  HeadTail (*sum_products)(const T* g, const T* x, int64_t count, HeadTail mean);

  // y = (x - mean) * scale * factor + bias + addend, rounded once.
  void (*normalize)(const T* x, int64_t count, HeadTail mean, double factor, RowTerm<T> scale,
                    RowTerm<T> bias, RowTerm<T> addend, T* y);
  // y = (x - mean) * factors + bias, rounded once, with a factor for each element.
  void (*scale)(const T* x, int64_t count, RowTerm<T> mean, const double* factors, RowTerm<T> bias,
                T* y);
  // y = ((g - g_mean) - (x - x_mean) * slope) * factor, rounded once.
  void (*take_slope)(const T* g, const T* x, int64_t count, HeadTail g_mean, HeadTail x_mean,
                     double slope, double factor, T* y);
};

// T is float or Half.
template <typename T>
const NormalizeKernels<T>& NormalizeKernelsFor();

}  // namespace dmlop
