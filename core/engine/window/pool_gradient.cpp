// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/window/pool_sum.h"
#include "core/exact/double_double.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// A sum of few numbers; infinities and NaN are added as in IEEE arithmetic.
class QuickSum {
 public:
  void Add(double x) {
    if (specials_.Take(x)) return;
    const HeadTail next = TwoSum(sum_, x);
    is_exact_ &= next.tail == 0;
    sum_ = next.head;
  }

  bool is_known() const { return is_exact_ || !specials_.are_finite(); }

  template <typename T>
  T Result() const {
    return RoundOnce<T>(sum_ != 0 && specials_.are_finite() ? sum_ : specials_.sum());
  }

 private:
  double sum_ = 0;
  bool is_exact_ = true;
  SpecialTerms specials_;
};

// One sum for each element of a channel.
class ChannelSums {
 public:
  explicit ChannelSums(int64_t count)
      : sums_(static_cast<size_t>(count)), states_(static_cast<size_t>(count)) {}

  void Clear() {
    std::fill(sums_.begin(), sums_.end(), -0.0);
    std::fill(states_.begin(), states_.end(), kEmpty);
    has_unresolved_ = false;
  }

  void Add(uint64_t element, double x) {
    if (element >= sums_.size()) return;  // the winner is in another channel, or there is none
    const HeadTail next = TwoSum(sums_[element], x);
    sums_[element] = next.head;
    states_[element] |= next.tail == 0 ? kExact : kUnresolved;
    has_unresolved_ |= next.tail != 0;
  }

  bool has_unresolved() const { return has_unresolved_; }
  bool IsUnresolved(uint64_t element) const {
    return element < states_.size() && states_[element] > kExact;
  }

  // Returns the sum of an element that is resolved.
  template <typename T>
  T Result(size_t element) const {
    return states_[element] == kEmpty ? T{} : RoundOnce<T>(sums_[element]);
  }

  // Resolves an element.
  void Set(uint64_t element, double result) {
    sums_[element] = result;
    states_[element] = kExact;
  }

 private:
  static constexpr uint8_t kEmpty = 0, kExact = 1, kUnresolved = 2;

  std::vector<double> sums_;
  std::vector<uint8_t> states_;
  bool has_unresolved_ = false;
};

constexpr int64_t kGrainElements = 1 << 10;
constexpr int64_t kMostWinners = 1 << 20;  // found at a time; at least one channel

// --- one block of channels -----------------------------------------------------------------------

// A part of a tensor.
struct Box {
  Dims begin, sizes;
};

// The windows along a dimension that have a tap at a position: `count`, `step` apart.
struct Holders {
  int64_t first = 0, step = 1, count = 0;
};

Holders HoldersAt(const WindowAxis& dim, int64_t position, int64_t windows) {
  const Range reaching = dim.OutputsReaching({position, position + 1}, windows);
  const int64_t step = dim.dilation / std::gcd(dim.stride, dim.dilation);
  const int64_t end = std::min(reaching.end, reaching.begin + step);
  for (int64_t window = reaching.begin; window < end; ++window) {
    if ((position - dim.Position(window, 0)) % dim.dilation != 0) continue;
    return {window, step, (reaching.end - 1 - window) / step + 1};
  }
  return {};
}

// Sums the numbers that for_each passes to a function; a second time if the quick sum is inexact.
template <typename T, typename ForEach>
T ExactlySummed(ForEach&& for_each) {
  QuickSum quick;
  for_each([&](double x) { quick.Add(x); });
  if (quick.is_known()) return quick.Result<T>();
  ExactSum exact;
  for_each([&](double x) { exact.Add(x); });
  return RoundSum<T>(exact);
}

// A window's gradient and the element that wins it.
struct Won {
  uint64_t element;
  double gradient;
};

class BlockOfSums {
 public:
  // `part` is a part of the output; the winners of all its windows are found at once.
  BlockOfSums(const PoolDims& dims, const ConstTensorView& input, const ConstTensorView& gradient,
              const Box& part)
      : dims_(dims), gradient_(gradient), part_(part) {
    for (size_t d = 0; d < dims.size(); ++d) {
      sizes_.push_back(dims[d].size);
      const Range positions = {part.begin[d], part.begin[d] + part.sizes[d]};
      const Range windows = dims[d].OutputsReaching(positions, gradient.layout.sizes[d]);
      windows_.begin.push_back(windows.begin);
      windows_.sizes.push_back(windows.count());
      holders_.emplace_back();
      for (int64_t position = positions.begin; position < positions.end; ++position) {
        holders_.back().push_back(HoldersAt(dims[d], position, gradient.layout.sizes[d]));
      }
    }
    winner_strides_ = PackedStrides(windows_.sizes);
    const int64_t count = Product(windows_.sizes);
    if (count == 0) return;
    winners_ = Buffer(static_cast<size_t>(count) * sizeof(uint64_t));
    const Layout packed = PackedLayout(windows_.sizes);
    FindWinners(dims, input, windows_.begin, {nullptr, input.type, packed},
                {winners_.data(), DataType::kUint64, packed});
  }

  template <typename T>
  void Run(const TensorView& sums) const {
    if (IsForChannels()) return RunChannels<T>(sums);
    Dims rows = part_.sizes;
    rows.pop_back();
    const int64_t columns = part_.sizes.back();
    ParallelFor(Product(rows), kGrainElements / columns + 1, sums.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  std::vector<Place> outer;
                  for (int64_t row = begin; row < end; ++row) {
                    RunRow<T>(IndexOf(rows, row), sums, outer);
                  }
                });
  }

 private:
  // Offsets of windows in one dimension, or summed over the dimensions so far.
  struct Place {
    int64_t winner, gradient;
  };

  // --- whole channels: windows pass their gradients on to their winners --------------------------

  int64_t plane() const { return Product(Dims(sizes_.begin() + 2, sizes_.end())); }

  // Returns whether there are enough channels for all threads, or elements have so many windows
  // that this is faster even in a single thread.
  bool IsForChannels() const {
    constexpr int64_t kWindowsInTheTimeOfOne = 16;
    const bool are_whole =
        std::equal(part_.sizes.begin() + 2, part_.sizes.end(), sizes_.begin() + 2);
    if (are_whole && part_.sizes[0] * part_.sizes[1] >= ThreadCount()) return true;
    double windows = 1;
    for (size_t d = 2; d < dims_.size(); ++d) {
      windows *= static_cast<double>(MostHolders(d) * part_.sizes[d]);
    }
    return windows > static_cast<double>(kWindowsInTheTimeOfOne * ThreadCount()) *
                         static_cast<double>(plane());
  }

  int64_t MostHolders(size_t d) const {
    int64_t most = 0;
    for (const Holders& holders : holders_[d]) most = std::max(most, holders.count);
    return most;
  }

  template <typename T>
  void RunChannels(const TensorView& sums) const {
    ParallelFor(part_.sizes[0] * part_.sizes[1], kGrainElements / plane() + 1, sums.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  ChannelSums channel(plane());
                  for (int64_t i = begin; i < end; ++i) {
                    const Dims place = {i / part_.sizes[1], i % part_.sizes[1]};
                    AddGradients<T>(place, channel);
                    WriteChannel<T>(place, channel, sums);
                  }
                });
  }

  // Calls body(element, gradient) for each window of a channel that reaches the part. Elements are
  // numbered within the channel; numbers beyond its last belong to other channels, or to no winner.
  template <typename T, typename Body>
  void ForEachWindow(const Dims& channel, Body&& body) const {
    const int64_t number = (part_.begin[0] + channel[0]) * sizes_[1] + part_.begin[1] + channel[1];
    const uint64_t first = static_cast<uint64_t>(number * plane());
    Place at{0, 0};
    for (size_t d = 0; d < 2; ++d) {
      const Place next = PlaceOf(d, part_.begin[d] + channel[d]);
      at = {at.winner + next.winner, at.gradient + next.gradient};
    }
    LoopNest<2> windows;
    for (size_t d = 2; d < sizes_.size(); ++d) {
      at.gradient += windows_.begin[d] * gradient_.layout.strides[d];
      windows.Push(windows_.sizes[d], {winner_strides_[d], gradient_.layout.strides[d]});
    }
    const auto* winners = reinterpret_cast<const uint64_t*>(winners_.data()) + at.winner;
    const T* gradients = gradient_.elements<T>() + at.gradient;
    windows = Merged(windows);
    const int64_t count = Product(windows.sizes);
    if (count == 0) return;  // no window reaches the part
    Walk<2> walk(windows, 0);
    for (int64_t i = 0; i < count; ++i, walk.Next()) {
      body(winners[walk.offset(0)] - first, AsDouble(gradients[walk.offset(1)]));
    }
  }

  template <typename T>
  void AddGradients(const Dims& place, ChannelSums& channel) const {
    channel.Clear();
    ForEachWindow<T>(place, [&](uint64_t element, double x) { channel.Add(element, x); });
    if (!channel.has_unresolved()) return;
    std::vector<Won> unresolved;
    ForEachWindow<T>(place, [&](uint64_t element, double x) {
      if (channel.IsUnresolved(element)) unresolved.push_back({element, x});
    });
    std::stable_sort(unresolved.begin(), unresolved.end(),
                     [](const Won& a, const Won& b) { return a.element < b.element; });
    for (size_t i = 0; i < unresolved.size();) {
      const uint64_t element = unresolved[i].element;
      const size_t begin = i;
      while (i < unresolved.size() && unresolved[i].element == element) ++i;
      const std::span all = std::span(unresolved).subspan(begin, i - begin);
      channel.Set(element, AsDouble(ExactlySummed<T>([&](auto&& add) {
                    for (const Won& won : all) add(won.gradient);
                  })));
    }
  }

  template <typename T>
  void WriteChannel(const Dims& place, const ChannelSums& channel, const TensorView& sums) const {
    const TensorView to = sums.Slice(0, place[0], 1).Slice(1, place[1], 1);
    const Dims strides = PackedStrides(sizes_);
    LoopNest<2> elements;
    int64_t first = 0;
    for (size_t d = 2; d < sizes_.size(); ++d) {
      elements.Push(to.layout.sizes[d], {to.layout.strides[d], strides[d]});
      first += part_.begin[d] * strides[d];
    }
    elements = Merged(elements);
    const int64_t count = Product(elements.sizes);
    Walk<2> walk(elements, 0);
    for (int64_t i = 0; i < count; ++i, walk.Next()) {
      to.elements<T>()[walk.offset(0)] =
          channel.Result<T>(static_cast<size_t>(first + walk.offset(1)));
    }
  }

  // --- rows: elements look for the windows that they win -----------------------------------------

  // Finds the windows that have taps in a row of the part, along all dimensions but the last.
  // Returns the number of the row's first element.
  int64_t FindOuter(const Dims& row, std::vector<Place>& outer) const {
    int64_t number = 0;
    outer.assign(1, {0, 0});
    for (size_t d = 0; d < row.size(); ++d) {
      number = number * sizes_[d] + part_.begin[d] + row[d];
      AddDimension(d, holders_[d][static_cast<size_t>(row[d])], outer);
    }
    return number * sizes_.back() + part_.begin.back();
  }

  // Computes row `row` of the part; `outer` is reused.
  template <typename T>
  void RunRow(const Dims& row, const TensorView& sums, std::vector<Place>& outer) const {
    const int64_t number = FindOuter(row, outer);
    Dims place = row;
    place.push_back(0);
    T* to = sums.elements<T>() + OffsetOf(sums.layout, place);
    const int64_t step = sums.layout.strides.back();
    for (size_t i = 0; i < holders_.back().size(); ++i) {
      const int64_t column = static_cast<int64_t>(i);
      to[column * step] =
          SumOf<T>(outer, holders_.back()[i], static_cast<uint64_t>(number + column));
    }
  }

  Place PlaceOf(size_t d, int64_t window) const {
    return {(window - windows_.begin[d]) * winner_strides_[d],
            window * gradient_.layout.strides[d]};
  }

  // Combines each place with all holders along one more dimension.
  void AddDimension(size_t d, const Holders& holders, std::vector<Place>& places) const {
    const size_t count = places.size();
    for (int64_t i = 1; i < holders.count; ++i) {
      const Place next = PlaceOf(d, holders.first + i * holders.step);
      for (size_t k = 0; k < count; ++k) {
        places.push_back({places[k].winner + next.winner, places[k].gradient + next.gradient});
      }
    }
    if (holders.count == 0) return places.clear();
    const Place first = PlaceOf(d, holders.first);
    for (size_t k = 0; k < count; ++k) {
      places[k] = {places[k].winner + first.winner, places[k].gradient + first.gradient};
    }
  }

  template <typename T>
  T SumOf(const std::vector<Place>& outer, const Holders& inner, uint64_t number) const {
    return ExactlySummed<T>([&](auto&& add) { ForEachWon<T>(outer, inner, number, add); });
  }

  // Calls body(gradient) for each window won by the element with that number.
  template <typename T, typename Body>
  void ForEachWon(const std::vector<Place>& outer, const Holders& inner, uint64_t number,
                  Body&& body) const {
    const auto* winners = reinterpret_cast<const uint64_t*>(winners_.data());
    for (const Place& place : outer) {
      for (int64_t i = 0; i < inner.count; ++i) {
        const Place last = PlaceOf(dims_.size() - 1, inner.first + i * inner.step);
        if (winners[place.winner + last.winner] != number) continue;
        body(AsDouble(gradient_.elements<T>()[place.gradient + last.gradient]));
      }
    }
  }

  const PoolDims& dims_;
  const ConstTensorView& gradient_;
  Box part_;
  Dims sizes_;                                 // sizes of the input
  Box windows_;                                // windows that reach the part
  std::vector<std::vector<Holders>> holders_;  // for each dimension, by position in the part
  Dims winner_strides_;
  Buffer winners_;
};

}  // namespace

void SumOfWinners(const PoolDims& dims, const ConstTensorView& input,
                  const ConstTensorView& gradient, const Dims& begin, const TensorView& sums) {
  int64_t windows = 1;  // per channel
  for (size_t d = 2; d < dims.size(); ++d) windows *= gradient.layout.sizes[d];
  const int64_t at_a_time = std::max<int64_t>(1, kMostWinners / windows);
  const Dims& sizes = sums.layout.sizes;
  for (int64_t n = 0; n < sizes[0]; ++n) {
    for (int64_t c = 0; c < sizes[1]; c += at_a_time) {
      const int64_t channels = std::min(at_a_time, sizes[1] - c);
      const TensorView view = sums.Slice(0, n, 1).Slice(1, c, channels);
      Box part{begin, view.layout.sizes};
      part.begin[0] += n;
      part.begin[1] += c;
      const BlockOfSums block(dims, input, gradient, part);
      VisitDataType(Floats(), sums.type, [&]<typename T>() { block.Run<T>(view); });
    }
  }
}

}  // namespace dmlop
