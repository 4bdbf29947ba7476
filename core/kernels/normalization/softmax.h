// Rows of a slice, for operators that weigh its elements by their exponentials.
#pragma once

#include <cstdint>

namespace dmlop {

// The sum of e^(x - max) over elements x, and how many of them are the maximum. Each exponential is
// within 2^-44; NaN where an element or the maximum is no finite number, but for -infinity.
struct ExpTerms {
  double sum;
  double maxima;  // whose terms, 1, are not in the sum, if these are counted; 0 otherwise
};

template <typename T>
struct SoftmaxKernels {
  // The largest element, NaN left aside; -infinity where there is none.
  float (*max)(const T* x, int64_t count);
  // The terms are also written to `terms` unless that is null.
  ExpTerms (*exp_sum)(const T* x, int64_t count, double max, double* terms);
  // The same with counted maxima, and without what -infinity would give.
  ExpTerms (*counted_exp_sum)(const T* x, int64_t count, double max);
  // y = terms * factor, rounded once.
  void (*scale_terms)(const double* terms, int64_t count, double factor, T* y);
  // y = (x - max) - log, rounded once.
  void (*subtract)(const T* x, int64_t count, double max, double log, T* y);
};

// T is float or Half.
template <typename T>
const SoftmaxKernels<T>& SoftmaxKernelsFor();

}  // namespace dmlop
