// SPDX-License-Identifier: Apache-2.0
// Accumulators for sums of floats: approximate vector sums, and exact ones.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/engine/reduce/vector_accumulators.h"
#include "core/exact/double_double.h"
#include "core/exact/exact_sum.h"
#include "core/kernels/reduce/approximate_sum.h"
#include "core/kernels/reduce/binned_sum.h"
#include "core/kernels/reduce/sum_finalizers.h"

namespace dmlop {

// Copies `count` results, if they are not there already; false if one is unresolved.
template <typename T>
bool CopyResolved(const T* results, const uint8_t* unresolved, int64_t count, T* to) {
  if (std::memchr(unresolved, 1, static_cast<size_t>(count)) != nullptr) return false;
  if (to != results) std::copy_n(results, count, to);
  return true;
}

// Sums floats by vectors. A group whose rounding is unresolved stays unresolved.
template <typename T>
class ApproximateSumAccumulators : public VectorAccumulators<ApproximateSumAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 4096;  // their states fit in the second-level cache
  static constexpr int64_t kBlock = kReadAheadBytes / sizeof(T);

  ApproximateSumAccumulators(int64_t capacity, SumMap map, SumFinalizer finalizer)
      : kernels_(ApproximateSumKernelsFor<T>(map)),
        finalizer_(reduce::FinalizerFor<T>(finalizer)),
        finalize_by_vectors_(finalizer == SumFinalizer::kLog ? nullptr
                                                             : FinalizeSumsFor<T>(map, finalizer)),
        relative_bound_(VisitSumMap(map, []<SumMap kMap>() { return kRelativeBound<T, kMap>; })),
        needs_peak_(VisitSumMap(map, []<SumMap kMap>() { return kNeedsPeak<T, kMap>; })),
        heads_(static_cast<size_t>(capacity)),
        tails_(static_cast<size_t>(capacity)),
        peaks_(static_cast<size_t>(capacity)),
        blocks_(static_cast<size_t>(capacity)),
        results_(static_cast<size_t>(capacity)),
        unresolved_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) {
    std::fill_n(heads_.begin(), count, -0.0);
    std::fill_n(tails_.begin(), count, 0.0);
    std::fill_n(peaks_.begin(), count, 0u);
    std::fill_n(unresolved_.begin(), count, uint8_t{1});
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) { kernels_.add_row(x, count, Sums(o)); }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.add_columns(x, rows, row_stride, columns, Sums(0));
  }

  void Merge(int64_t o, const ApproximateSumAccumulators& other, int64_t p, int64_t) {
    const size_t i = static_cast<size_t>(o);
    const size_t k = static_cast<size_t>(p);
    const HeadTail sum = TwoSum(heads_[i], other.heads_[k]);
    heads_[i] = sum.head;
    tails_[i] += sum.tail + other.tails_[k];
    peaks_[i] = std::max(peaks_[i], other.peaks_[k]);
  }

  void FinalizeGroups(int64_t o, int64_t count, int64_t n) {
    if (finalize_by_vectors_ == nullptr) return;
    finalize_by_vectors_(Sums(o), count, n, results_.data() + o, unresolved_.data() + o);
  }

  bool FinishGroups(int64_t o, int64_t count, T* results) const {
    return CopyResolved(results_.data() + o, unresolved_.data() + o, count, results);
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    const size_t i = static_cast<size_t>(o);
    result = results_[i];
    if (unresolved_[i] == 0) return true;
    // The sum of the terms' magnitudes if none is negative; any but 0 if the bound is 0.
    double magnitude = std::fabs(heads_[i]) + std::fabs(tails_[i]);
    if (needs_peak_) {
      magnitude = static_cast<double>(std::bit_cast<float>(peaks_[i])) * static_cast<double>(n);
    }
    if (!std::isfinite(heads_[i])) {  // nothing overflows here, so an element is not finite
      result = finalizer_.of_special(heads_[i]);
      return true;
    }
    if (magnitude == 0) {  // all terms are zeros, whose signs the head has kept
      result = finalizer_.of_zero(heads_[i]);
      return true;
    }
    const HeadTail sum = FastTwoSum(heads_[i], tails_[i]);
    return finalizer_.decide(sum, magnitude * relative_bound_, n, result);
  }

 private:
  ApproximateSums Sums(int64_t o) {
    return {heads_.data() + o, tails_.data() + o, peaks_.data() + o, blocks_.data() + o};
  }

  ApproximateSumKernels<T> kernels_;
  reduce::Finalizer<T> finalizer_;
  FinalizeSumsFunction<T> finalize_by_vectors_;  // null: there is none
  double relative_bound_;
  bool needs_peak_;
  std::vector<double> heads_;
  std::vector<double> tails_;
  std::vector<uint32_t> peaks_;
  std::vector<double> blocks_;
  std::vector<T> results_;
  std::vector<uint8_t> unresolved_;
};

// Sums a few floats by vectors. A group whose rounding is unresolved stays unresolved.
template <typename T>
class ShortSumAccumulators : public VectorAccumulators<ShortSumAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 2048;
  static constexpr int64_t kElements = ShortSumAccumulators::kPacked;
  static constexpr int64_t kMinShortRow = 1;

  ShortSumAccumulators(int64_t capacity, SumMap map, SumFinalizer finalizer)
      : kernels_(ShortSumKernelsFor<T>(map, finalizer)),
        own_results_(static_cast<size_t>(capacity)),
        unresolved_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { std::fill_n(unresolved_.begin(), count, uint8_t{0}); }

  void SetPlace(T* results) { results_ = results != nullptr ? results : own_results_.data(); }

  void AddShortRows(int64_t o, int64_t rows, int64_t pitch, const ElementRun<T>& run) {
    kernels_.sum_rows(run.first, run.count, pitch, rows, results_ + o, unresolved_.data() + o);
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    kernels_.sum_rows(x, count, 0, 1, results_ + o, unresolved_.data() + o);
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.sum_columns(x, rows, row_stride, columns, results_, unresolved_.data());
  }

  bool FinishGroups(int64_t o, int64_t count, T* results) const {
    return CopyResolved(results_ + o, unresolved_.data() + o, count, results);
  }

  bool Finish(int64_t o, int64_t, T& result) const {
    result = results_[o];
    return unresolved_[static_cast<size_t>(o)] == 0;
  }

 private:
  ShortSumKernels<T> kernels_;
  std::vector<T> own_results_;
  T* results_ = own_results_.data();
  std::vector<uint8_t> unresolved_;
};

// Exact sums for groups that others leave unresolved: ties, near ties, and cancelled terms.
template <typename T>
class ExactSumAccumulators : public VectorAccumulators<ExactSumAccumulators<T>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 256;

  ExactSumAccumulators(int64_t capacity, SumMap map, SumFinalizer finalizer)
      : kernels_(BinnedSumKernelsFor<T>(map)),
        finalizer_(reduce::FinalizerFor<T>(finalizer)),
        count_(VisitSumMap(map, []<SumMap kMap>() { return SumBins<T, kMap>::kCount; })),
        pitch_((capacity + BinnedSums::kLanes - 1) / BinnedSums::kLanes * BinnedSums::kLanes),
        bins_(static_cast<size_t>(count_ * pitch_)) {}

  void Start(int64_t count) {
    for (int b = 0; b < count_; ++b) std::fill_n(bins_.begin() + b * pitch_, count, 0.0);
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) { kernels_.add_row(x, count, Sums(o)); }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.add_columns(x, rows, row_stride, columns, Sums(0));
  }

  void Merge(int64_t o, ExactSumAccumulators& other, int64_t p, int64_t) {
    kernels_.merge(other.Sums(p), Sums(o));
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    std::array<double, kMostBins> parts;
    for (int b = 0; b < count_; ++b) parts[static_cast<size_t>(b)] = Bin(o, b);
    const BoundedSum top = SumOfParts(std::span(parts).first(static_cast<size_t>(count_)));
    if (top.sum.head == 0) {
      result = finalizer_.of_zero(0.0);
    } else if (!finalizer_.decide(top.sum, top.bound, n, result)) {
      ExactSum sum;
      for (int b = 0; b < count_; ++b) sum.Add(Bin(o, b));
      result = finalizer_.of(sum, n);
    }
    return true;
  }

 private:
  // Squares have the widest range of exponents.
  static constexpr size_t kMostBins = SumBins<T, SumMap::kSquare>::kCount;

  BinnedSums Sums(int64_t o) { return {bins_.data() + o, pitch_}; }
  double Bin(int64_t o, int b) const { return bins_[static_cast<size_t>(b * pitch_ + o)]; }

  BinnedSumKernels<T> kernels_;
  reduce::Finalizer<T> finalizer_;
  int count_;  // number of bins
  int64_t pitch_;
  std::vector<double> bins_;
};

}  // namespace dmlop
