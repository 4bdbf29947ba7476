// SPDX-License-Identifier: Apache-2.0
// Accumulators for LOG_SUM_EXP.
#pragma once

#include <cmath>
#include <vector>

#include "core/engine/reduce/vector_accumulators.h"
#include "core/kernels/reduce/exp_sum.h"
#include "core/kernels/reduce/sum_finalizers.h"

namespace dmlop {

// Computes LOG_SUM_EXP by vectors in one pass. A group whose rounding is unresolved stays
// unresolved.
template <typename T>
class ExpSumAccumulators : public VectorAccumulators<ExpSumAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 1024;

  explicit ExpSumAccumulators(int64_t capacity)
      : kernels_(ExpSumKernelsFor<T>()),
        maxima_(static_cast<size_t>(capacity)),
        sums_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) {
    std::fill_n(maxima_.begin(), count, ExpSums::kStartMax);
    std::fill_n(sums_.begin(), count, 0.0);
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) { kernels_.add_row(x, count, Sums(o)); }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.add_columns(x, rows, row_stride, columns, Sums(0));
  }

  // Sums that are infinite or whose maxima are not finite stay unresolved.
  void Merge(int64_t o, const ExpSumAccumulators& other, int64_t p, int64_t) {
    const size_t i = static_cast<size_t>(o);
    const size_t k = static_cast<size_t>(p);
    const double max_here = maxima_[i];
    const double max_there = other.maxima_[k];
    if (!std::isfinite(max_here) || !std::isfinite(max_there) || std::isinf(sums_[i]) ||
        std::isinf(other.sums_[k])) {
      sums_[i] = INFINITY;
      return;
    }
    if (max_here < max_there) {
      sums_[i] = sums_[i] * Exp(max_here - max_there) + other.sums_[k];
      maxima_[i] = other.maxima_[k];
    } else {
      sums_[i] += other.sums_[k] * Exp(max_there - max_here);
    }
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    const size_t i = static_cast<size_t>(o);
    if (std::isnan(sums_[i]) && std::isfinite(maxima_[i])) {  // because of a NaN element
      result = reduce::CanonicalNan<T>();
      return true;
    }
    if (!std::isfinite(maxima_[i]) || !std::isfinite(sums_[i])) return false;
    if (sums_[i] < 0.5) {
      result = reduce::Infinity<T>(true);
      return true;
    }
    const double log = Log(sums_[i]);
    const HeadTail sum = TwoSum(maxima_[i], log);
    // Adds the errors of merging blocks of 2^16 terms, of the logarithms here and of the
    // fixed-point sum, and of that sum itself.
    const double bound =
        ExpSums::kRelativeBound<T> * 1.01 + 0x1p-66 * static_cast<double>(n) + 0x1p-50 * (1 + log);
    return reduce::DecideRounding(sum.head, sum.tail, bound, result);
  }

 private:
  ExpSums Sums(int64_t o) { return {maxima_.data() + o, sums_.data() + o}; }

  ExpSumKernels<T> kernels_;
  std::vector<float> maxima_;
  std::vector<double> sums_;
};

}  // namespace dmlop
