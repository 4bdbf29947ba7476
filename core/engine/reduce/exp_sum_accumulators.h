// SPDX-License-Identifier: Apache-2.0
// Accumulators for LOG_SUM_EXP in one pass, or in two that do not depend on the order.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "core/engine/reduce/vector_accumulators.h"
#include "core/exact/elementary.h"
#include "core/exact/exact_sum.h"
#include "core/kernels/reduce/exp_sum.h"
#include "core/kernels/reduce/sum_finalizers.h"

namespace dmlop {

// Computes LOG_SUM_EXP by vectors in one pass; a group may stay unresolved in its rounding.
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

// First pass: finds the maximum of a group, or NaN if it has one, as the second pass's shift.
template <typename T>
class ExpShiftAccumulators : public VectorAccumulators<ExpShiftAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = double;

  static constexpr int64_t kColumns = 256;

  explicit ExpShiftAccumulators(int64_t capacity)
      : kernels_(FixedExpSumKernelsFor<T>()), maxima_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { std::fill_n(maxima_.begin(), count, -INFINITY); }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    kernels_.max_row(x, count, maxima_.data() + o);
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.max_columns(x, rows, row_stride, columns, maxima_.data());
  }

  void Merge(int64_t o, const ExpShiftAccumulators& other, int64_t p, int64_t) {
    double& max = maxima_[static_cast<size_t>(o)];
    const double of_part = other.maxima_[static_cast<size_t>(p)];
    if (of_part > max || std::isnan(of_part)) max = of_part;
  }

  bool Finish(int64_t o, int64_t, double& result) const {
    result = maxima_[static_cast<size_t>(o)];
    return true;
  }

 private:
  FixedExpSumKernels<T> kernels_;
  std::vector<double> maxima_;
};

// Second pass: sums e^(x - shift).
template <typename T>
class FixedExpSumAccumulators : public VectorAccumulators<FixedExpSumAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 256;

  explicit FixedExpSumAccumulators(int64_t capacity)
      : kernels_(FixedExpSumKernelsFor<T>()),
        shifts_(static_cast<size_t>(capacity)),
        high_(static_cast<size_t>(capacity)),
        low_(static_cast<size_t>(capacity)),
        merged_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) {
    std::fill_n(high_.begin(), count, 0);
    std::fill_n(low_.begin(), count, 0);
    std::fill_n(merged_.begin(), count, Merged{});
  }

  void SetShift(int64_t o, double shift) { shifts_[static_cast<size_t>(o)] = shift; }

  void AddNeighbours(int64_t o, const T* x, int64_t count) { kernels_.add_row(x, count, Sums(o)); }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.add_columns(x, rows, row_stride, columns, Sums(0));
  }

  void Merge(int64_t o, const FixedExpSumAccumulators& other, int64_t p, int64_t) {
    const Merged part = other.Sum(p);
    Merged& whole = merged_[static_cast<size_t>(o)];
    for (size_t i = 0; i < part.size(); ++i) whole[i] += part[i];
  }

  bool Finish(int64_t o, int64_t, T& result) const {
    const double shift = shifts_[static_cast<size_t>(o)];
    result = std::isfinite(shift) ? LogOf(shift, Sum(o)) : RoundOnce<T>(shift);
    return true;
  }

 private:
  FixedExpSums Sums(int64_t o) { return {shifts_.data() + o, high_.data() + o, low_.data() + o}; }

  // Upper and lower halves of the high and low units: up to 2^16 parts of 2^16 terms are summed.
  using Merged = std::array<int64_t, 4>;
  static constexpr int64_t kHalf = int64_t{1} << 32;

  Merged Sum(int64_t o) const {
    const size_t i = static_cast<size_t>(o);
    Merged sum = merged_[i];
    sum[0] += high_[i] / kHalf;
    sum[1] += high_[i] % kHalf;
    sum[2] += low_[i] / kHalf;
    sum[3] += low_[i] % kHalf;
    return sum;
  }

  static T LogOf(double shift, const Merged& sum) {
    // Usually binary64 holds the sum of each kind of unit exactly.
    constexpr int64_t kFits = int64_t{1} << 20;
    if (std::abs(sum[0]) < kFits && std::abs(sum[2]) < kFits) {
      const auto high = static_cast<double>(sum[0] * kHalf + sum[1]);
      const auto low = static_cast<double>(sum[2] * kHalf + sum[3]);
      return LogOfExpSum<T>(shift,
                            HeadTail{high * FixedExpSums::kHighUnit, low * FixedExpSums::kLowUnit});
    }
    return LogOfExpSum<T>(shift, Exact(sum));
  }

  static ExactSum Exact(const Merged& sum) {
    constexpr double kUpper = static_cast<double>(kHalf);
    const double units[] = {FixedExpSums::kHighUnit * kUpper, FixedExpSums::kHighUnit,
                            FixedExpSums::kLowUnit * kUpper, FixedExpSums::kLowUnit};
    ExactSum exact;
    for (size_t i = 0; i < sum.size(); ++i) exact.Add(static_cast<double>(sum[i]) * units[i]);
    return exact;
  }

  FixedExpSumKernels<T> kernels_;
  std::vector<double> shifts_;
  std::vector<int64_t> high_, low_;
  std::vector<Merged> merged_;
};

}  // namespace dmlop
