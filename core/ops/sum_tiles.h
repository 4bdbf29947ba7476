// Tiles of ReduceLoop for sums of floats: by vectors, and exactly.
#pragma once

#include <bit>
#include <cmath>
#include <vector>

#include "core/exact/exact_sum.h"
#include "core/kernels/copy.h"
#include "core/kernels/rough_sum.h"
#include "core/kernels/split_sum.h"
#include "core/kernels/sum_endings.h"
#include "core/ops/vector_tile.h"

namespace dmlop {

// Sums of floats by vectors. A group whose rounding is in doubt is left undecided. `kRanged`: the
// range of the elements tells where nothing was rounded.
template <typename T, SumTerm kTerm, typename Ending, bool kRanged>
class RoughSumTile : public VectorTile<RoughSumTile<T, kTerm, Ending, kRanged>, T> {
 public:
  using Input = T;
  using Output = T;

  static constexpr int64_t kColumns = 8192;  // 256 KiB of states, for the second-level cache

  explicit RoughSumTile(int64_t capacity)
      : kernels_(RoughSumKernelsFor<T>(kTerm, kRanged)),
        heads_(static_cast<size_t>(capacity)),
        tails_(static_cast<size_t>(capacity)),
        peaks_(static_cast<size_t>(capacity)),
        leasts_(static_cast<size_t>(capacity)),
        blocks_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) {
    std::fill_n(heads_.begin(), count, -0.0);
    std::fill_n(tails_.begin(), count, 0.0);
    std::fill_n(peaks_.begin(), count, 0u);
    std::fill_n(leasts_.begin(), count, RoughSums::kNoLeast);
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
    leasts_[i] = std::min(leasts_[i], other.leasts_[k]);
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    const size_t i = static_cast<size_t>(o);
    // Of all terms together, where none is negative; any but 0 does where the bound is 0.
    double magnitude = std::fabs(heads_[i]) + std::fabs(tails_[i]);
    if constexpr (kLeastRange<T, kTerm> == SumRange::kPeak) {
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
    const double bound = IsExact(i, magnitude) ? 0 : magnitude * kRelativeBound<T, kTerm>;
    return Ending::Decide(sum, bound, n, result);
  }

 private:
  RoughSums Sums(int64_t o) {
    return {heads_.data() + o, tails_.data() + o, peaks_.data() + o, leasts_.data() + o,
            blocks_.data() + o};
  }

  // Whether all terms are multiples of a unit of which binary64 holds every number up to their
  // magnitude: then nothing was rounded.
  bool IsExact(size_t i, double magnitude) const {
    if constexpr (!kRanged) return false;
    constexpr uint32_t kExponent = 0x7F800000;
    const float power = std::bit_cast<float>((leasts_[i] + 1) & kExponent);
    const double unit = std::max(static_cast<double>(power) * 0x1p-23, 0x1p-149);
    return magnitude <= unit * 0x1p52;
  }

  RoughSumKernels<T> kernels_;
  std::vector<double> heads_;
  std::vector<double> tails_;
  std::vector<uint32_t> peaks_;
  std::vector<uint32_t> leasts_;
  std::vector<double> blocks_;
};

// Exact sums, for the groups that RoughSumTile leaves undecided. Groups of zeros only, or with
// elements that are not finite, are left as they are.
template <typename T, SumTerm kTerm, typename Ending>
class ExactSumTile {
 public:
  using Input = T;
  using Output = T;

  static constexpr bool kByVectors = false;
  static constexpr int64_t kColumns = 16;      // a cache line of FLOAT32
  static constexpr int64_t kManyColumns = 64;  // where most of them are wanted

  explicit ExactSumTile(int64_t capacity)
      : split_(SplitSumFor<T>(kTerm)),
        gather_(CopyTileFor(sizeof(T))),
        states_(static_cast<size_t>(capacity)) {}

  void Start(int64_t count) { std::fill_n(states_.begin(), count, State()); }

  void AddRow(int64_t o, const ElementRun<T>& run) {
    if (run.stride != 1) return AddColumns(o, {1, 0}, run);
    for (int64_t begin = 0; begin < run.count; begin += kPiece) {
      AddPiece(o, run.first + begin, std::min(kPiece, run.count - begin));
    }
  }

  void AddColumns(const ColumnRun& columns, const ElementRun<T>& run) {
    AddColumns(0, columns, run);
  }

  void Merge(int64_t o, const ExactSumTile& other, int64_t p, int64_t) {
    const State& state = other.states_[static_cast<size_t>(p)];
    states_[static_cast<size_t>(o)].sum.Merge(state.sum);
    Raise(states_[static_cast<size_t>(o)].peak, state.peak);
  }

  bool Finish(int64_t o, int64_t n, T& result) const {
    constexpr uint32_t kInfinity = 0x7F800000;
    const State& state = states_[static_cast<size_t>(o)];
    if (state.peak == 0 || state.peak >= kInfinity) return false;
    result = Ending::template Of<T>(state.sum, n);
    return true;
  }

 private:
  static constexpr int64_t kPiece = SplitSum::kMaxCount;
  static constexpr int64_t kGathered = kPiece * kColumns;  // elements, in the second-level cache

  struct State {
    ExactSum sum;
    uint32_t peak = 0;  // as in SplitSum
  };

  // Columns of groups from o on, made rows in a buffer of a few of them.
  void AddColumns(int64_t o, const ColumnRun& columns, const ElementRun<T>& run) {
    const int64_t piece = std::min(kPiece, kGathered / columns.count);
    const int64_t pitch = piece + 64 / static_cast<int64_t>(sizeof(T));  // no power of two
    gathered_.resize(static_cast<size_t>(columns.count * pitch));
    for (int64_t row = 0; row < run.count; row += piece) {
      const int64_t count = std::min(piece, run.count - row);
      gather_({columns.count, count, pitch, 1, columns.stride, run.stride},
              reinterpret_cast<std::byte*>(gathered_.data()),
              reinterpret_cast<const std::byte*>(run.first + row * run.stride));
      for (int64_t c = 0; c < columns.count; ++c) {
        AddPiece(o + c, gathered_.data() + c * pitch, count);
      }
    }
  }

  void AddPiece(int64_t o, const T* x, int64_t count) {
    State& state = states_[static_cast<size_t>(o)];
    SplitSum split;
    split_(x, count, split);
    for (int i = 0; i < split.part_count; ++i) state.sum.Add(split.parts[i]);
    Raise(state.peak, split.peak);
  }

  static void Raise(uint32_t& peak, uint32_t other) { peak = std::max(peak, other); }

  SplitSumFunction<T> split_;
  CopyTileFunction gather_;
  std::vector<State> states_;
  std::vector<T> gathered_;
};

}  // namespace dmlop
