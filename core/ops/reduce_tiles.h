// Tiles for ReduceLoop: element by element for any function, and by vectors for sums of floats.
#pragma once

#include <cmath>
#include <vector>

#include "core/exact/bucket_sum.h"
#include "core/kernels/exp_sum.h"
#include "core/kernels/reduce_functions.h"
#include "core/kernels/rough_product.h"
#include "core/kernels/rough_sum.h"
#include "core/ops/reduce_loop.h"

namespace dmlop {

// Any function of reduce_functions.h.
template <typename Function>
class ElementTile {
 public:
  using Input = typename Function::Input;
  using Output = typename Function::Output;

  static constexpr int64_t kColumns = 64;

  explicit ElementTile(int64_t capacity)
      : states_(static_cast<size_t>(capacity), Function::Start(0)) {}

  void Start(int64_t count, const double* shift, int64_t shift_stride) {
    for (int64_t o = 0; o < count; ++o) {
      state(o) = Function::Start(shift == nullptr ? 0.0 : shift[o * shift_stride]);
    }
  }

  void AddRow(int64_t o, const ElementRun<Input>& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      Function::Add(state(o), run.first[i * run.stride], run.number + i * run.number_step);
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<Input>& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      const Input* x = run.first + i * run.stride;
      const int64_t number = run.number + i * run.number_step;
      for (int64_t o = 0; o < columns.count; ++o) {
        Function::Add(state(o), x[o * columns.stride], number);
      }
    }
  }

  void Merge(int64_t o, const ElementTile& other) {
    Function::Merge(state(o), other.states_[static_cast<size_t>(o)]);
  }

  bool Finish(int64_t o, int64_t n, Output& result) const {
    result = Function::Finish(states_[static_cast<size_t>(o)], n);
    return true;
  }

 private:
  typename Function::State& state(int64_t o) { return states_[static_cast<size_t>(o)]; }

  std::vector<typename Function::State> states_;
};

// Sums that are exact whatever the data, for the groups that RoughSumTile leaves undecided.
template <typename T, SumTerm kTerm, typename Ending>
class ExactSumTile {
 public:
  using Input = T;
  using Output = T;

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

  void Merge(int64_t o, const ExactSumTile& other) {
    states_[static_cast<size_t>(o)].Merge(other.states_[static_cast<size_t>(o)]);
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

// Sums of floats by vectors. A group whose rounding is in doubt is left undecided.
template <typename T, SumTerm kTerm, typename Ending>
class RoughSumTile {
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

  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride == 1) return kernels_.add_row(run.first, run.count, Sums(o));
    for (int64_t i = 0; i < run.count; ++i) {
      kernels_.add_row(run.first + i * run.stride, 1, Sums(o));
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if (columns.stride == 1) {
      return kernels_.add_columns(run.first, run.count, run.stride, columns.count, Sums(0));
    }
    for (int64_t o = 0; o < columns.count; ++o) {
      ElementRun<T> column = run;
      column.first += o * columns.stride;
      AddRow(o, column);
    }
  }

  void Merge(int64_t o, const RoughSumTile& other) {
    const size_t i = static_cast<size_t>(o);
    const HeadTail sum = TwoSum(heads_[i], other.heads_[i]);
    heads_[i] = sum.head;
    tails_[i] += sum.tail + other.tails_[i];
    peaks_[i] = std::max(peaks_[i], other.peaks_[i]);
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

// LOG_SUM_EXP by vectors, in one pass. A group whose rounding is in doubt is left undecided.
template <typename T>
class ExpSumTile {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 1024;

  explicit ExpSumTile(int64_t capacity)
      : kernels_(ExpSumKernelsFor<T>()),
        maxima_(static_cast<size_t>(capacity)),
        sums_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count, const double*, int64_t) {
    std::fill_n(maxima_.begin(), count, -INFINITY);
    std::fill_n(sums_.begin(), count, 0.0);
  }

  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride == 1) return kernels_.add_row(run.first, run.count, Sums(o));
    for (int64_t i = 0; i < run.count; ++i) {
      kernels_.add_row(run.first + i * run.stride, 1, Sums(o));
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if (columns.stride == 1) {
      return kernels_.add_columns(run.first, run.count, run.stride, columns.count, Sums(0));
    }
    for (int64_t o = 0; o < columns.count; ++o) {
      ElementRun<T> column = run;
      column.first += o * columns.stride;
      AddRow(o, column);
    }
  }

  // Sums whose maxima are not finite stay undecided, whatever becomes of them here.
  void Merge(int64_t o, const ExpSumTile& other) {
    const size_t i = static_cast<size_t>(o);
    const double max = std::max(maxima_[i], other.maxima_[i]);
    if (!std::isfinite(maxima_[i]) || !std::isfinite(other.maxima_[i])) {
      sums_[i] = INFINITY;
      return;
    }
    sums_[i] = sums_[i] * Exp(maxima_[i] - max) + other.sums_[i] * Exp(other.maxima_[i] - max);
    maxima_[i] = max;
  }

  bool Finish(int64_t o, int64_t, T& result) const {
    const size_t i = static_cast<size_t>(o);
    if (!std::isfinite(maxima_[i]) || !std::isfinite(sums_[i])) return false;
    const double log = Log(sums_[i]);
    const HeadTail sum = TwoSum(maxima_[i], log);
    // What the logarithms here and of the exact sum may lose comes on top.
    const double bound = ExpSums::kRelativeBound * 1.01 + 0x1p-50 * (1 + log);
    return reduce::DecideRounding(sum.head, sum.tail, bound, result);
  }

 private:
  ExpSums Sums(int64_t o) { return {maxima_.data() + o, sums_.data() + o}; }

  ExpSumKernels<T> kernels_;
  std::vector<double> maxima_;
  std::vector<double> sums_;
};

// MULTIPLY of floats by vectors. A group whose rounding is in doubt is left undecided.
template <typename T>
class RoughProductTile {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 512;  // 20 KiB of states

  explicit RoughProductTile(int64_t capacity)
      : kernels_(RoughProductKernelsFor<T>()), states_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count, const double*, int64_t) { states_.Start(static_cast<size_t>(count)); }

  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride == 1) return kernels_.multiply_row(run.first, run.count, states_.At(o));
    for (int64_t i = 0; i < run.count; ++i) {
      kernels_.multiply_row(run.first + i * run.stride, 1, states_.At(o));
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    if (columns.stride == 1) {
      return kernels_.multiply_columns(run.first, run.count, run.stride, columns.count,
                                       states_.At(0));
    }
    for (int64_t o = 0; o < columns.count; ++o) {
      ElementRun<T> column = run;
      column.first += o * columns.stride;
      AddRow(o, column);
    }
  }

  void Merge(int64_t o, RoughProductTile& other) {
    MultiplyGroup(states_.At(o), other.states_.At(o));
  }

  bool Finish(int64_t o, int64_t, T& result) {
    constexpr uint32_t kInfinity = 0x7F800000;
    constexpr int64_t kFarExponent = 400;  // beyond any float, within a double
    const RoughProducts product = states_.At(o);
    if (*product.greatest >= kInfinity) return false;
    const double sign = (*product.sign >> 63) != 0 ? -1.0 : 1.0;
    if (*product.least == 0) {
      result = reduce::RoundZero<T>(sign * 0.0);
      return true;
    }
    const double scale = std::ldexp(
        sign, static_cast<int>(std::clamp(*product.exponent, -kFarExponent, kFarExponent)));
    return reduce::DecideRounding(*product.head * scale, *product.tail * scale,
                                  std::fabs(scale) * 2 * RoughProducts::kRelativeBound, result);
  }

 private:
  struct States {
    explicit States(size_t capacity)
        : head(capacity),
          tail(capacity),
          exponent(capacity),
          sign(capacity),
          least(capacity),
          greatest(capacity) {}

    void Start(size_t count) {
      std::fill_n(head.begin(), count, 1.0);
      std::fill_n(tail.begin(), count, 0.0);
      std::fill_n(exponent.begin(), count, 0);
      std::fill_n(sign.begin(), count, 0u);
      std::fill_n(least.begin(), count, 0x7F7FFFFFu);
      std::fill_n(greatest.begin(), count, 0u);
    }

    RoughProducts At(int64_t o) {
      return {head.data() + o, tail.data() + o,  exponent.data() + o,
              sign.data() + o, least.data() + o, greatest.data() + o};
    }

    std::vector<double> head, tail;
    std::vector<int64_t> exponent;
    std::vector<uint64_t> sign;
    std::vector<uint32_t> least, greatest;
  };

  RoughProductKernels<T> kernels_;
  States states_;
};

}  // namespace dmlop
