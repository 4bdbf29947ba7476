// SPDX-License-Identifier: Apache-2.0
// Computes rows of slices for operators that weigh elements by their exponentials.
#pragma once

#include <cstdint>

namespace dmlop {

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
