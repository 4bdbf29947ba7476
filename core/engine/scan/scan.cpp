// SPDX-License-Identifier: Apache-2.0
#include "core/engine/scan/scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/reduce/product_accumulators.h"
#include "core/exact/double_double.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/kernels/copy/copy.h"
#include "core/kernels/scan/prefix_product.h"
#include "core/tensor/element.h"
#include "core/tensor/half.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// The range of the elements' magnitudes, which tells whether their running sums are multiples of
// one power of two that binary64 holds exactly.
class ElementGrid {
 public:
  template <typename T>
  void Take(T x) {
    const float value = static_cast<float>(AsDouble(x));
    const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu;
    most_ = std::max(most_, magnitude);
    least_ = std::min(least_, magnitude - 1);  // 0 wraps to the greatest value
  }

  // A power of two of which all sums of `count` such elements and `sum`, rounded to a multiple of
  // it, are multiples that binary64 holds. Null if some element is not a multiple of it.
  std::optional<double> Unit(double sum, int64_t count) const {
    constexpr uint32_t kInfinity = 0x7F800000u;
    if (most_ >= kInfinity) return std::nullopt;
    const double most = static_cast<double>(std::bit_cast<float>(most_));
    const double reach = std::fabs(sum) + static_cast<double>(count) * most;
    if (reach == 0) return 1;
    const double unit = std::ldexp(1.0, std::ilogb(reach) - 51);
    const uint32_t power = (least_ + 1) & kInfinity;
    const double least_unit = static_cast<double>(std::bit_cast<float>(power)) * 0x1p-23;
    return most_ == 0 || unit <= least_unit ? std::optional(unit) : std::nullopt;
  }

 private:
  uint32_t most_ = 0;
  uint32_t least_ = 0x7F7FFFFFu;  // least magnitude other than 0, less 1
};

// Integers wrap modulo 2^width.
template <typename T>
class PrefixSum {
  static_assert(std::unsigned_integral<T>);

 public:
  void Add(T x) { sum_ += x; }
  void Merge(const PrefixSum& next) { sum_ += next.sum_; }
  T Value() const { return sum_; }

 private:
  T sum_ = 0;
};

// Two binary64 numbers hold the sum as long as possible, which is nearly always.
template <typename T>
class PrefixFloatSum {
 public:
  void Add(T element) {
    const double x = AsDouble(element);
    is_empty_ = false;
    if (!std::isfinite(x) || !std::isfinite(special_)) {
      special_ += x;
    } else {
      AddFinite(x);
    }
  }

  // Adds the elements that `next` has seen.
  void Merge(const PrefixFloatSum& next) {
    if (next.is_empty_) return;
    is_empty_ = false;
    special_ += next.special_;
    if (next.exact_) {
      if (!exact_) Widen();
      exact_->Merge(*next.exact_);
      return;
    }
    AddFinite(next.sum_.head);
    if (next.sum_.tail != 0) AddFinite(next.sum_.tail);
  }

  // True if two numbers hold the sum of at least one element. Otherwise none of the following
  // functions may be called.
  bool IsPair() const { return !is_empty_ && !exact_ && std::isfinite(special_); }
  double Head() const { return sum_.head; }
  // The multiple of `unit` nearest to the head, and the rest. The head is less than 2^53 units.
  HeadTail Split(double unit) const {
    const double high = std::nearbyint(sum_.head / unit) * unit;
    return {high, (sum_.head - high) + sum_.tail};
  }
  void Set(double sum) { sum_ = {sum, 0.0}; }
  void AddExact(double sum) { AddToPair(sum); }
  T ValueWith(double sum) const {
    PrefixFloatSum both;
    both.sum_ = sum_;
    both.is_empty_ = false;
    both.AddToPair(sum);
    return both.Value();
  }

  T Value() const {
    if (is_empty_) return RoundOnce<T>(0.0);
    if (!std::isfinite(special_)) return RoundOnce<T>(special_);
    return exact_ ? RoundSum<T>(*exact_) : RoundOnce<T>(sum_.head, sum_.tail);
  }

 private:
  void AddFinite(double x) {
    if (exact_) {
      exact_->Add(x);
    } else {
      AddToPair(x);
    }
  }

  void AddToPair(double x) {
    const HeadTail heads = TwoSum(sum_.head, x);
    const HeadTail tails = TwoSum(sum_.tail, heads.tail);
    if (tails.tail != 0) {  // three numbers would be needed
      Widen();
      exact_->Add(x);
    } else if (tails.head == 0) {  // the sum may be -0
      sum_ = {heads.head, 0.0};
    } else {
      sum_ = TwoSum(heads.head, tails.head);
    }
  }

  void Widen() {
    exact_.emplace();
    exact_->Add(sum_.head);
    exact_->Add(sum_.tail);
  }

  HeadTail sum_ = {-0.0, 0.0};  // unless exact_ is set
  std::optional<ExactSum> exact_;
  double special_ = 0;  // infinite or NaN once such an element was added
  bool is_empty_ = true;
};
template <>
class PrefixSum<float> : public PrefixFloatSum<float> {};
template <>
class PrefixSum<Half> : public PrefixFloatSum<Half> {};

// Integers wrap modulo 2^width.
template <typename T>
class PrefixProduct {
  static_assert(std::unsigned_integral<T>);

 public:
  void Add(T x) { product_ *= x; }
  T Value() const { return product_; }

 private:
  T product_ = 1;
};

// Products of adjacent sequences, a tile of elements at a time. Each lane has at most one sequence.
template <typename T>
class PrefixFloatProducts {
 public:
  PrefixFloatProducts(int64_t sequences, int64_t rows)
      : lanes_((sequences + kLanes - 1) / kLanes * kLanes),
        tile_(static_cast<size_t>(rows * lanes_)),
        states_(lanes_) {
    states_.Start(lanes_);
  }

  int64_t lanes() const { return lanes_; }
  T* tile() { return tile_.data(); }

  // Replaces the elements in the tile's first rows by products.
  void Multiply(int64_t rows, bool is_exclusive) {
    multiply_(tile(), rows, lanes_, is_exclusive, states_.At(0));
  }

 private:
  static constexpr int64_t kLanes = ApproximateProducts::kLanes;

  PrefixProductKernel<T>* multiply_ = PrefixProductKernelFor<T>();
  int64_t lanes_;
  std::vector<T> tile_;
  ProductStates states_;
};
template <>
class PrefixProduct<float> : public PrefixFloatProducts<float> {
  using PrefixFloatProducts::PrefixFloatProducts;
};
template <>
class PrefixProduct<Half> : public PrefixFloatProducts<Half> {
  using PrefixFloatProducts::PrefixFloatProducts;
};

namespace {

constexpr int64_t kMostSequences = 32;  // scanned side by side
constexpr int64_t kRangeElements = 1 << 13;
constexpr int64_t kPartElements = 1 << 16;  // of a long sequence, for a thread
constexpr int64_t kTileRows = 128;

// T is the type of the elements; State<T> is the running state.
template <template <typename> typename State, typename T>
class Scan {
 public:
  Scan(const ScanCall& call, const ConstTensorView& input, const TensorView& output)
      : is_exclusive_(call.is_exclusive), to_(output.elements<T>()), from_(input.elements<T>()) {
    LoopNest<2> all{output.layout.sizes, {output.layout.strides, input.layout.strides}};
    length_ = all.sizes[call.axis];
    step_ = all.Step(call.axis);
    sequences_ = Merged(Without(all, call.axis));
    if (!call.from_the_end) return;
    to_ += (length_ - 1) * step_[0];
    from_ += (length_ - 1) * step_[1];
    for (int64_t& step : step_) step = -step;
  }

  void Run() const {
    const int64_t count = Product(sequences_.sizes);
    const int64_t threads = ThreadCount();
    const int64_t side_by_side = std::clamp(count / threads, int64_t{1}, kMostSequences);
    const int64_t groups = (count + side_by_side - 1) / side_by_side;
    const int64_t grain = std::max<int64_t>(1, kRangeElements / (side_by_side * length_));
    const int64_t bytes = count * length_ * static_cast<int64_t>(sizeof(T));
    int64_t parts = 1;
    if constexpr (kMerges) {
      if (groups < threads) parts = std::clamp(length_ / kPartElements, int64_t{1}, threads);
    }
    // Threads share groups, or parts of each group.
    ParallelFor(groups, parts > 1 ? groups : grain, bytes, [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        const int64_t first = group * side_by_side;
        RunSequences(first, std::min(count - first, side_by_side), parts);
      }
    });
  }

 private:
  using Places = std::array<std::array<int64_t, 2>, kMostSequences>;
  using States = std::vector<State<T>>;

  static constexpr bool kHasTile = requires(State<T> state) { state.tile(); };
  static constexpr bool kMerges = requires(State<T> state) { state.Merge(state); };
  static constexpr bool kIsFloatSum = requires(State<T> state) { state.Head(); };

  void RunSequences(int64_t first, int64_t count, int64_t parts) const {
    Places places;
    Walk<2> walk(sequences_, first);
    for (int64_t s = 0; s < count; ++s, walk.Next()) {
      places[static_cast<size_t>(s)] = walk.offsets();
    }
    if constexpr (kHasTile) {
      RunTiles(places, count);
    } else {
      const States none(static_cast<size_t>(count));
      if (parts == 1) {
        States states = none;
        return RunRows<true>(places, 0, length_, states);
      }
      if constexpr (kMerges) RunParts(places, none, parts);
    }
  }

  void RunTiles(const Places& places, int64_t count) const {
    State<T> state(count, kTileRows);
    const int64_t lanes = state.lanes();
    for (int64_t k = 0; k < length_; k += kTileRows) {
      const int64_t rows = std::min(kTileRows, length_ - k);
      ForEachEven<1>(places, count, [&](int64_t s, int64_t sequences, int64_t step) {
        Move({rows, sequences, lanes, 1, step_[1], step}, state.tile() + s,
             from_ + places[static_cast<size_t>(s)][1] + k * step_[1]);
      });
      state.Multiply(rows, is_exclusive_);
      ForEachEven<0>(places, count, [&](int64_t s, int64_t sequences, int64_t step) {
        const CopyTile along = {sequences, rows, step, step_[0], 1, lanes};
        const CopyTile across = {rows, sequences, step_[0], step, lanes, 1};
        Move(step_[0] == 1 ? along : across, to_ + places[static_cast<size_t>(s)][0] + k * step_[0],
             state.tile() + s);
      });
    }
  }

  // Calls visit(first, count, step) for sequences a fixed step apart in an operand.
  template <size_t kOperand, typename Visit>
  static void ForEachEven(const Places& places, int64_t count, Visit&& visit) {
    const auto step_to = [&](int64_t s) {
      return places[static_cast<size_t>(s)][kOperand] -
             places[static_cast<size_t>(s - 1)][kOperand];
    };
    for (int64_t first = 0; first < count;) {
      int64_t next = first + 1;
      while (next < count && step_to(next) == step_to(first + 1)) ++next;
      visit(first, next - first, next - first > 1 ? step_to(next - 1) : 0);
      first = next;
    }
  }

  void Move(const CopyTile& tile, T* to, const T* from) const {
    move_(tile, reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from));
  }

  // Each part continues from the combined state of all parts before it.
  void RunParts(const Places& places, const States& none, int64_t parts) const {
    const int64_t size = (length_ + parts - 1) / parts;
    std::vector<States> before(static_cast<size_t>(parts) + 1, none);
    const auto for_each_part = [&](auto&& body) {
      ParallelFor(parts, 1, 0, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          body(std::min(length_, part * size), std::min(length_, (part + 1) * size),
               static_cast<size_t>(part));
        }
      });
    };
    for_each_part([&](int64_t begin, int64_t end, size_t part) {
      RunRows<false>(places, begin, end, before[part + 1]);
    });
    for (size_t part = 1; part < before.size(); ++part) {
      for (size_t s = 0; s < none.size(); ++s) {
        State<T> all = before[part - 1][s];
        all.Merge(before[part][s]);
        before[part][s] = all;
      }
    }
    for_each_part([&](int64_t begin, int64_t end, size_t part) {
      RunRows<true>(places, begin, end, before[part]);
    });
  }

  template <bool kWrites>
  void RunRows(const Places& places, int64_t begin, int64_t end, States& states) const {
    for (int64_t k = begin; k < end;) {
      const int64_t next = std::min(end, k + (k == begin ? 1 : kTileRows));
      if constexpr (kIsFloatSum) {
        if (RunExactly<kWrites>(places, k, next, states)) {
          k = next;
          continue;
        }
      }
      for (size_t s = 0; s < states.size(); ++s) AddRows<kWrites>(places[s], k, next, states[s]);
      k = next;
    }
  }

  template <bool kWrites>
  void AddRows(const std::array<int64_t, 2>& place, int64_t begin, int64_t end,
               State<T>& state) const {
    State<T> so_far = state;  // a local copy, which no output can alias
    for (int64_t k = begin; k < end; ++k) {
      const T x = from_[place[1] + k * step_[1]];
      T& to = to_[place[0] + k * step_[0]];
      if (kWrites && is_exclusive_) to = so_far.Value();
      so_far.Add(x);
      if (kWrites && !is_exclusive_) to = so_far.Value();
    }
    state = so_far;
  }

  // Returns false unless the sums are exact in binary64, apart from a rest that only ties need.
  template <bool kWrites>
  bool RunExactly(const Places& places, int64_t begin, int64_t end, States& states) const {
    std::array<double, kMostSequences> units;
    for (size_t s = 0; s < states.size(); ++s) {
      if (!states[s].IsPair()) return false;
      ElementGrid grid;
      for (int64_t k = begin; k < end; ++k) grid.Take(from_[places[s][1] + k * step_[1]]);
      const std::optional<double> unit = grid.Unit(states[s].Head(), end - begin);
      if (!unit) return false;
      units[s] = *unit;
    }
    for (size_t s = 0; s < states.size(); ++s) {
      State<T>& state = states[s];
      const HeadTail parts = state.Split(units[s]);
      if (parts.tail == 0) {
        state.Set(SumRows<kWrites>(places[s], begin, end, parts.head, FromDouble<T>));
        continue;
      }
      // From here on, a tie between two neighbouring results is a multiple of the unit.
      const double large = 0x1p26 * units[s];
      const double sum = SumRows<kWrites>(places[s], begin, end, parts.head, [&](double so_far) {
        return std::fabs(so_far) < large ? state.ValueWith(so_far - parts.head)
                                         : FromDouble<T>(Toward(parts.tail, so_far));
      });
      state.AddExact(sum - parts.head);
    }
    return true;
  }

  // Returns the sum of all elements; value(sum) is an element of the output.
  template <bool kWrites, typename Value>
  double SumRows(const std::array<int64_t, 2>& place, int64_t begin, int64_t end, double sum,
                 const Value& value) const {
    for (int64_t k = begin; k < end; ++k) {
      const double before = sum;
      sum += AsDouble(from_[place[1] + k * step_[1]]);
      if (kWrites) to_[place[0] + k * step_[0]] = value(is_exclusive_ ? before : sum);
    }
    return sum;
  }

  // The neighbour of a number other than 0 in the direction of `rest`, which breaks a tie.
  static double Toward(double rest, double sum) {
    const uint64_t bits = std::bit_cast<uint64_t>(sum);
    const uint64_t outward = (rest > 0) == (sum > 0) ? 1 : ~uint64_t{0};
    return std::bit_cast<double>(bits + outward);
  }

  bool is_exclusive_;
  T* to_;
  const T* from_;
  int64_t length_;
  std::array<int64_t, 2> step_;
  LoopNest<2> sequences_;
  CopyTileFunction move_ = CopyTileFor(sizeof(T));
};

template <template <typename> typename State>
void RunScan(const ScanCall& call, const ConstTensorView& input, const TensorView& output) {
  VisitDataType(Join<Floats, Integers32, Integers64>(), input.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      Scan<State, std::make_unsigned_t<T>>(call, input, output).Run();
    } else {
      Scan<State, T>(call, input, output).Run();
    }
  });
}

}  // namespace

void ScanSums(const ScanCall& call, const ConstTensorView& input, const TensorView& output) {
  RunScan<PrefixSum>(call, input, output);
}

void ScanProducts(const ScanCall& call, const ConstTensorView& input, const TensorView& output) {
  RunScan<PrefixProduct>(call, input, output);
}

}  // namespace dmlop
