// SPDX-License-Identifier: Apache-2.0
// Computes sums over rows of slices, and their normalized elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/exact/double_double.h"

namespace dmlop {

// An operand of a row: one value for each element, one for all, or none if null.
template <typename T>
struct RowTerm {
  const T* elements = nullptr;
  bool varies = false;
};

// Widened rows are FLOAT64, and have room for the rest of their last 16 elements. They save the
// conversions of later passes, which take longer than to load them from the cache.
template <typename T>
struct NormalizeKernels {
  // Widens x.
  void (*widen)(const T* x, int64_t count, double* wide);
  // Returns the sum of x, within 2^-88 of the sum of magnitudes for 2^12 elements. If the sum is
  // not finite, the tail is 0. Also widens x, unless `wide` is null, and prefetches what follows x,
  // which mostly is the next row.
  HeadTail (*sum)(const T* x, int64_t count, double* wide);
  // Returns the sum of |x|.
  double (*sum_magnitudes)(const T* x, int64_t count);
  // Returns the sum of (x - mean)^2.
  double (*sum_squares)(const T* x, int64_t count, HeadTail mean);
  // Does the same with a widened row, in which it leaves x - mean. Also prefetches the row y that
  // will be written, of elements of `width` bytes: the next row could not be widened while stores
  // to memory are waiting.
  double (*take_mean)(double* wide, int64_t count, HeadTail mean, const std::byte* y,
                      int64_t width);
  // Returns the sum of g * (x - mean), as accurate as `sum`.
  HeadTail (*sum_products)(const T* g, const T* x, int64_t count, HeadTail mean);

  // Computes y = (x - mean) * scale * factor + bias + addend, rounded once.
  void (*normalize)(const T* x, int64_t count, HeadTail mean, double factor, RowTerm<T> scale,
                    RowTerm<T> bias, RowTerm<T> addend, T* y);
  // Computes y = wide * scale * factor + bias, rounded once, with widened rows.
  void (*end_wide)(const double* wide, int64_t count, double factor, RowTerm<double> scale,
                   RowTerm<double> bias, T* y);
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

// --- softmax -------------------------------------------------------------------------------------

// Computes rows of slices for operators that weigh elements by their exponentials.

// The sum of e^(x - max) over elements x, and how often the maximum occurs. Each exponential is
// within 2^-44. The sum is NaN if the maximum or an element other than -infinity is not finite.
struct ExpTerms {
  double sum;
  double maxima;  // number of maxima if they are counted, and then left out of the sum; 0 otherwise
};

template <typename T>
struct SoftmaxKernels {
  // Returns the largest element, ignoring NaN; -infinity if there is none.
  float (*max)(const T* x, int64_t count);
  // Also writes the terms to `terms` unless that is null.
  ExpTerms (*exp_sum)(const T* x, int64_t count, double max, double* terms);
  // Does the same, but counts the maxima, and skips elements of -infinity.
  ExpTerms (*counted_exp_sum)(const T* x, int64_t count, double max);
  // Computes y = terms * factor, rounded once.
  void (*scale_terms)(const double* terms, int64_t count, double factor, T* y);
  // Computes y = (x - max) - log, rounded once.
  void (*subtract)(const T* x, int64_t count, double max, double log, T* y);
};

// T is float or Half.
template <typename T>
const SoftmaxKernels<T>& SoftmaxKernelsFor();

}  // namespace dmlop
