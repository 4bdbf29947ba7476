// Tiles of ReduceLoop for sums of floats: by vectors, and exactly.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/exact/error_free.h"
#include "core/exact/exact_sum.h"
#include "core/kernels/binned_sum.h"
#include "core/kernels/rough_sum.h"
#include "core/kernels/short_sum.h"
#include "core/kernels/sum_endings.h"
#include "core/ops/vector_tile.h"

namespace dmlop {

// Copies `count` results, if they are not there already, unless one is in doubt.
template <typename T>
bool CopyDecided(const T* results, const uint8_t* in_doubt, int64_t count, T* to) {
  if (std::memchr(in_doubt, 1, static_cast<size_t>(count)) != nullptr) return false;
  if (to != results) std::copy_n(results, count, to);
  return true;
}

// Sums of floats by vectors. A group whose rounding is in doubt is left undecided.
template <typename T, SumTerm kTerm, typename Ending>
class RoughSumTile : public VectorTile<RoughSumTile<T, kTerm, Ending>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 4096;  // with states for the second-level cache
  static constexpr int64_t kBlock = kBytesOfBlock / sizeof(T);

  explicit RoughSumTile(int64_t capacity)
      : heads_(static_cast<size_t>(capacity)),
        tails_(static_cast<size_t>(capacity)),
        peaks_(static_cast<size_t>(capacity)),
        blocks_(static_cast<size_t>(capacity)),
        results_(static_cast<size_t>(capacity)),
        in_doubt_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) {
    std::fill_n(heads_.begin(), count, -0.0);
    std::fill_n(tails_.begin(), count, 0.0);
    std::fill_n(peaks_.begin(), count, 0u);
    std::fill_n(in_doubt_.begin(), count, uint8_t{1});
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) { kernels_.add_row(x, count, Sums(o)); }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.add_columns(x, rows, row_stride, columns, Sums(0));
  }

  void Merge(int64_t o, const RoughSumTile& other, int64_t p, int64_t) {
    const size_t i = static_cast<size_t>(o);
    const size_t k = static_cast<size_t>(p);
    const HeadTail sum = TwoSum(heads_[i], other.heads_[k]);
    heads_[i] = sum.head;
    tails_[i] += sum.tail + other.tails_[k];
    peaks_[i] = std::max(peaks_[i], other.peaks_[k]);
  }

  void EndGroups(int64_t o, int64_t count, int64_t n) {
    if constexpr (requires { Ending::kByVectors; }) {
      end_(Sums(o), count, n, results_.data() + o, in_doubt_.data() + o);
    }
  }

  bool FinishGroups(int64_t o, int64_t count, T* results) const {
    return CopyDecided(results_.data() + o, in_doubt_.data() + o, count, results);
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    const size_t i = static_cast<size_t>(o);
    result = results_[i];
    if (in_doubt_[i] == 0) return true;
    // Of all terms together, where none is negative; any but 0 does where the bound is 0.
    double magnitude = std::fabs(heads_[i]) + std::fabs(tails_[i]);
    if constexpr (kNeedsPeak<T, kTerm>) {
      magnitude = static_cast<double>(std::bit_cast<float>(peaks_[i])) * static_cast<double>(n);
    }
    if (!std::isfinite(heads_[i])) {  // nothing overflows here: as the elements that are not finite
      result = Ending::template OfSpecial<T>(heads_[i]);
      return true;
    }
    if (magnitude == 0) {  // zeros only, whose signs the head has kept
      result = Ending::template OfZero<T>(heads_[i]);
      return true;
    }
    const HeadTail sum = FastTwoSum(heads_[i], tails_[i]);
    return Ending::Decide(sum, magnitude * kRelativeBound<T, kTerm>, n, result);
  }

 private:
  RoughSums Sums(int64_t o) {
    return {heads_.data() + o, tails_.data() + o, peaks_.data() + o, blocks_.data() + o};
  }

  static RoughSumEnd<T> EndKernel() {
    if constexpr (requires { Ending::kByVectors; }) {
      return RoughSumEndFor<T>(kTerm, Ending::kByVectors);
    }
    return nullptr;
  }

  RoughSumKernels<T> kernels_ = RoughSumKernelsFor<T>(kTerm);
  RoughSumEnd<T> end_ = EndKernel();
  std::vector<double> heads_;
  std::vector<double> tails_;
  std::vector<uint32_t> peaks_;
  std::vector<double> blocks_;
  std::vector<T> results_;
  std::vector<uint8_t> in_doubt_;
};

// Sums of a few floats by vectors. A group whose rounding is in doubt is left undecided.
template <typename T, SumTerm kTerm, SumEnding kEnding>
class ShortSumTile : public VectorTile<ShortSumTile<T, kTerm, kEnding>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 2048;
  static constexpr int64_t kElements = ShortSumTile::kGathered;
  static constexpr int64_t kMinShortRow = 1;

  explicit ShortSumTile(int64_t capacity)
      : own_results_(static_cast<size_t>(capacity)), in_doubt_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { std::fill_n(in_doubt_.begin(), count, uint8_t{0}); }

  void SetPlace(T* results) { results_ = results != nullptr ? results : own_results_.data(); }

  void AddShortRows(int64_t o, int64_t rows, int64_t pitch, const ElementRun<T>& run) {
    kernels_.sum_rows(run.first, run.count, pitch, rows, results_ + o, in_doubt_.data() + o);
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) {
    kernels_.sum_rows(x, count, 0, 1, results_ + o, in_doubt_.data() + o);
  }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.sum_columns(x, rows, row_stride, columns, results_, in_doubt_.data());
  }

  bool FinishGroups(int64_t o, int64_t count, T* results) const {
    return CopyDecided(results_ + o, in_doubt_.data() + o, count, results);
  }

  bool Finish(int64_t o, int64_t, T& result) const {
    result = results_[o];
    return in_doubt_[static_cast<size_t>(o)] == 0;
  }

 private:
  ShortSumKernels<T> kernels_ = ShortSumKernelsFor<T>(kTerm, kEnding);
  std::vector<T> own_results_;
  T* results_ = own_results_.data();
  std::vector<uint8_t> in_doubt_;
};

// Exact sums, for the groups that other tiles leave undecided: ties, what all but is a tie, and
// terms that cancel each other.
template <typename T, SumTerm kTerm, typename Ending, bool kMany>
class ExactSumTile : public SelectedTile<ExactSumTile<T, kTerm, Ending, kMany>, T, kMany> {
 public:
  using Input = T;
  using Output = T;

  explicit ExactSumTile(int64_t capacity)
      : kernels_(BinnedSumKernelsFor<T>(kTerm)),
        pitch_((capacity + BinnedSums::kLanes - 1) / BinnedSums::kLanes * BinnedSums::kLanes),
        bins_(static_cast<size_t>(Bins::kCount * pitch_)) {}

  void Start(int64_t count) {
    for (int b = 0; b < Bins::kCount; ++b) std::fill_n(bins_.begin() + b * pitch_, count, 0.0);
  }

  void AddNeighbours(int64_t o, const T* x, int64_t count) { kernels_.add_row(x, count, Sums(o)); }

  void AddRows(const T* x, int64_t rows, int64_t row_stride, int64_t columns) {
    kernels_.add_columns(x, rows, row_stride, columns, Sums(0));
  }

  void Merge(int64_t o, ExactSumTile& other, int64_t p, int64_t) {
    kernels_.merge(other.Sums(p), Sums(o));
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    std::array<double, Bins::kCount> parts;
    for (int b = 0; b < Bins::kCount; ++b) parts[static_cast<size_t>(b)] = Bin(o, b);
    const BoundedSum top = SumOfParts(parts);
    if (top.sum.head == 0) {
      result = Ending::template OfZero<T>(0.0);
    } else if (!Ending::Decide(top.sum, top.bound, n, result)) {
      ExactSum sum;
      for (int b = 0; b < Bins::kCount; ++b) sum.Add(Bin(o, b));
      result = Ending::template Of<T>(sum, n);
    }
    return true;
  }

 private:
  using Bins = SumBins<T, kTerm>;

  BinnedSums Sums(int64_t o) { return {bins_.data() + o, pitch_}; }
  double Bin(int64_t o, int b) const { return bins_[static_cast<size_t>(b * pitch_ + o)]; }

  BinnedSumKernels<T> kernels_;
  int64_t pitch_;
  std::vector<double> bins_;
};

}  // namespace dmlop
