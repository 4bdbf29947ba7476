// Tiles of ReduceLoop for sums of floats: by vectors, and exactly.
#pragma once

#include <bit>
#include <cmath>
#include <vector>

#include "core/exact/bucket_sum.h"
#include "core/kernels/rough_sum.h"
#include "core/kernels/sum_endings.h"
#include "core/ops/vector_tile.h"

namespace dmlop {

// Sums of floats by vectors. A group whose rounding is in doubt is left undecided.
template <typename T, SumTerm kTerm, typename Ending>
class RoughSumTile : public VectorTile<RoughSumTile<T, kTerm, Ending>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 1024;  // 20 KiB of states

  explicit RoughSumTile(int64_t capacity)
      : kernels_(RoughSumKernelsFor<T>(kTerm)),
        heads_(static_cast<size_t>(capacity)),
        tails_(static_cast<size_t>(capacity)),
        peaks_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count, const double*, int64_t) {
    std::fill_n(heads_.begin(), count, -0.0);
    std::fill_n(tails_.begin(), count, 0.0);
    std::fill_n(peaks_.begin(), count, 0u);
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

  bool Finish(int64_t o, int64_t n, T& result) const {
    const size_t i = static_cast<size_t>(o);
    double magnitude = heads_[i];  // of all terms together, where none is negative
    if constexpr (kTerm == SumTerm::kItself) {
      magnitude = static_cast<double>(std::bit_cast<float>(peaks_[i])) * static_cast<double>(n);
    }
    if (!std::isfinite(heads_[i]) || !std::isfinite(magnitude)) return false;
    const HeadTail sum = FastTwoSum(heads_[i], tails_[i]);
    if (magnitude == 0) {  // zeros only, whose signs the head has kept
      result = Ending::template OfZero<T>(heads_[i]);
      return true;
    }
    return Ending::Decide(sum, magnitude * RoughSums::kRelativeBound, n, result);
  }

 private:
  RoughSums Sums(int64_t o) { return {heads_.data() + o, tails_.data() + o, peaks_.data() + o}; }

  RoughSumKernels<T> kernels_;
  std::vector<double> heads_;
  std::vector<double> tails_;
  std::vector<uint32_t> peaks_;
};

// Sums that are exact whatever the data, for the groups that RoughSumTile leaves undecided.
template <typename T, SumTerm kTerm, typename Ending>
class ExactSumTile {
 public:
  using Input = T;
  using Output = T;

  static constexpr bool kByVectors = false;
  static constexpr int64_t kColumns = 64;

  explicit ExactSumTile(int64_t capacity) : states_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count, const double*, int64_t) {
    std::fill_n(states_.begin(), count, reduce::SumState());
  }

  void AddRow(int64_t o, const ElementRun<T>& run) {
    for (int64_t begin = 0; begin < run.count; begin += kGathered) {
      const int64_t count = std::min(kGathered, run.count - begin);
      AddValues(o, Gather(run.first + begin * run.stride, run.stride, count), count);
    }
  }

  // A few rows at a time, so that what one column touches is still near for the next.
  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    constexpr int64_t kRows = 2048;
    for (int64_t row = 0; row < run.count; row += kRows) {
      for (int64_t o = 0; o < columns.count; ++o) {
        AddRow(o, {run.first + row * run.stride + o * columns.stride,
                   std::min(kRows, run.count - row), run.stride, 0, 0});
      }
    }
  }

  void Merge(int64_t o, const ExactSumTile& other, int64_t p, int64_t) {
    states_[static_cast<size_t>(o)].Merge(other.states_[static_cast<size_t>(p)]);
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    result = Ending::template Of<T>(states_[static_cast<size_t>(o)], n);
    return true;
  }

 private:
  static constexpr int64_t kGathered = BucketSum::kCapacity;
  static constexpr int64_t kWorthBuckets = 512;  // values; fewer are added one by one

  // The values side by side as FLOAT32.
  const float* Gather(const T* first, int64_t stride, int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      if (stride == 1) return first;
    }
    gathered_.resize(static_cast<size_t>(kGathered));
    for (int64_t i = 0; i < count; ++i) {
      gathered_[static_cast<size_t>(i)] = static_cast<float>(reduce::Widen(first[i * stride]));
    }
    return gathered_.data();
  }

  static double Term(float x) {
    const double wide = static_cast<double>(x);
    if constexpr (kTerm == SumTerm::kMagnitude) return std::fabs(wide);
    if constexpr (kTerm == SumTerm::kSquare) return wide * wide;
    return wide;
  }

  void AddValues(int64_t o, const float* values, int64_t count) {
    reduce::SumState& state = states_[static_cast<size_t>(o)];
    if (count >= kWorthBuckets && AddByBuckets(values, count, state)) return;
    for (int64_t i = 0; i < count; ++i) state.Add(Term(values[i]));
  }

  // False, with nothing added, where single values matter: zeros, for their signs, and NaN and
  // infinities.
  static bool AddByBuckets(const float* values, int64_t count, reduce::SumState& state) {
    BucketSum buckets;
    if constexpr (kTerm == SumTerm::kItself) buckets.Add(values, count);
    if constexpr (kTerm == SumTerm::kMagnitude) buckets.AddMagnitudes(values, count);
    if constexpr (kTerm == SumTerm::kSquare) buckets.AddSquares(values, count);
    if (buckets.has_special() || buckets.has_only_zeros()) return false;
    state.only_negative_zeros = false;
    if constexpr (kTerm == SumTerm::kSquare) {
      buckets.MoveSquaresTo(state.sum);
    } else {
      buckets.MoveTo(state.sum);
    }
    return true;
  }

  std::vector<reduce::SumState> states_;
  std::vector<float> gathered_;
};

}  // namespace dmlop
