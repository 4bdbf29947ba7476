// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_max.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/copy/fill.h"
#include "core/engine/window/sliding_windows.h"
#include "core/exact/rounding.h"
#include "core/kernels/reduce/min_max.h"
#include "core/kernels/window/pool_max.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Numbers = Join<Floats, Integers64, Integers32, Integers16, Integers8>;

constexpr int64_t kGrainTaps = 1 << 14;
constexpr int64_t kMostSideBySide = 1024;

template <typename T>
T LeastOf() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
  if constexpr (!std::is_integral_v<T>) return RoundOnce<T>(-INFINITY);
}

ElementBytes LeastValue(DataType type) {
  ElementBytes bytes{};
  VisitDataType(Numbers(), type, [&]<typename T>() {
    const T least = LeastOf<T>();
    std::memcpy(bytes.data(), &least, sizeof least);
  });
  return bytes;
}

void FillWithoutTaps(const TensorView& maxima) {
  FillView(LeastValue(maxima.type), maxima);
}

// --- winners -------------------------------------------------------------------------------------

template <typename T>
struct Winner {
  KeyOf<T> key = KeyOrder<T>::kLeast;
  int64_t number = -1;

  void Take(KeyOf<T> other, int64_t its_number) {
    const bool wins = other > key || number < 0;
    key = wins ? other : key;
    number = wins ? its_number : number;
  }
};

// The number -1, which stands for none, comes after all others once it is unsigned.
template <typename T>
Winner<T> Join(const Winner<T>& a, const Winner<T>& b) {
  const bool is_before = static_cast<uint64_t>(b.number) < static_cast<uint64_t>(a.number);
  return b.key > a.key || (b.key == a.key && is_before) ? b : a;
}

template <typename T>
Winner<T> WinnerOf(const TapLoops& taps, const TapLoops& in_numbers, const T* from, int64_t number,
                   KeyOf<T> flipped) {
  Winner<T> winner;
  const auto& elements = taps.steps;
  const auto& numbers = in_numbers.steps;
  for (int64_t a = 0; a < taps.sizes[0]; ++a) {
    for (int64_t b = 0; b < taps.sizes[1]; ++b) {
      const T* x = from + a * elements[0] + b * elements[1];
      const int64_t first = number + a * numbers[0] + b * numbers[1];
      for (int64_t c = 0; c < taps.sizes[2]; ++c) {
        winner.Take(KeyOrder<T>::ToKey(x[c * elements[2]], flipped), first + c * numbers[2]);
      }
    }
  }
  return winner;
}

template <typename T>
T ValueOf(KeyOf<T> key, KeyOf<T> flipped) {
  if constexpr (!std::is_integral_v<T>) {
    if (key == KeyOrder<T>::kLeast) return RoundOnce<T>(NAN);
  }
  return KeyOrder<T>::FromKey(key, flipped);
}

// A box of outputs whose windows have taps.
class WinnersOfBox {
 public:
  WinnersOfBox(const PoolDims& dims, const PoolBox& box, const ConstTensorView& input)
      : input_(input), elements_(WindowsOf(dims, box, input.layout)) {
    // The same windows in a packed tensor give the numbers of elements.
    Dims sizes;
    for (const PoolDim& dim : dims) sizes.push_back(dim.size);
    numbers_ = WindowsOf(dims, box, PackedLayout(sizes));
    taps_ = TapsOf(elements_, dims.size());
    taps_in_numbers_ = TapsOf(numbers_, dims.size());
  }

  template <typename T, typename Index>
  void Find(KeyOf<T> flipped, const TensorView& maxima, const TensorView& winners) const {
    const int64_t taps = taps_.count();
    const LoopNest<kOperands> outputs = Merged(OutputLoops(maxima, winners));
    const T* from = input_.elements<T>() + elements_.first;
    T* values = maxima.elements<T>();
    Index* indices = winners.elements<Index>();
    ParallelFor(Product(outputs.sizes), kGrainTaps / taps + 1, winners.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  Walk<kOperands> walk(outputs, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    const Winner<T> winner =
                        WinnerOf(taps_, taps_in_numbers_, from + walk.offset(kWindow),
                                 numbers_.first + walk.offset(kNumber), flipped);
                    indices[walk.offset(kWinner)] = static_cast<Index>(winner.number);
                    if (values == nullptr) continue;
                    values[walk.offset(kValue)] = ValueOf<T>(winner.key, flipped);
                  }
                });
  }

  // Does the same for FLOAT32 with vectors.
  template <typename Index>
  void FindByVectors(const TensorView& maxima, const TensorView& winners) const {
    const LoopNest<kOperands> outputs = OutputLoops(maxima, winners);
    const size_t row = PoolRowDimension(outputs.sizes);
    const LoopNest<kOperands> rows = Merged(Without(outputs, row));
    const int64_t length = outputs.sizes[row];
    const VectorWork<Index> work{PoolWinnerKernelFor(),
                                 OffsetsOf(taps_),
                                 OffsetsOf(taps_in_numbers_),
                                 outputs.Step(row),
                                 input_.elements<float>() + elements_.first,
                                 maxima.elements<float>(),
                                 winners.elements<Index>()};
    ParallelFor(Product(rows.sizes), kGrainTaps / (length * taps_.count()) + 1,
                winners.element_bytes(), [&](int64_t begin, int64_t end) {
                  std::vector<int32_t> keys(kMostSideBySide), taps(kMostSideBySide);
                  Walk<kOperands> walk(rows, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    Places places = walk.offsets();
                    places[kNumber] += numbers_.first;
                    for (int64_t first = 0; first < length; first += kMostSideBySide) {
                      work.Run(std::min(length - first, kMostSideBySide), keys, taps, places);
                    }
                  }
                });
  }

  bool IsForVectors() const {
    return input_.type == DataType::kFloat32 && taps_.count() <= kMaxPoolTaps;
  }

 private:
  enum Operand : size_t { kWindow, kNumber, kValue, kWinner, kOperands };
  using Places = std::array<int64_t, kOperands>;

  template <typename Index>
  struct VectorWork {
    PoolWinnerKernel kernel;
    std::vector<int64_t> offsets, numbers;  // for each tap
    Places step;
    const float* from;
    float* values;
    Index* indices;

    // Computes `count` outputs from `places` on, and advances these.
    void Run(int64_t count, std::vector<int32_t>& keys, std::vector<int32_t>& taps,
             Places& places) const {
      kernel({from + places[kWindow], step[kWindow], count, offsets}, keys.data(), taps.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        const int64_t number = places[kNumber] + numbers[static_cast<size_t>(taps[i])];
        indices[places[kWinner]] = static_cast<Index>(number);
        if (values != nullptr) values[places[kValue]] = ValueOf<float>(keys[i], 0);
        for (size_t k = 0; k < kOperands; ++k) places[k] += step[k];
      }
    }
  };

  LoopNest<kOperands> OutputLoops(const TensorView& maxima, const TensorView& winners) const {
    LoopNest<kOperands> outputs;
    for (size_t d = 0; d < maxima.layout.rank(); ++d) {
      outputs.Push(maxima.layout.sizes[d], {elements_.layout.strides[d], numbers_.layout.strides[d],
                                            maxima.layout.strides[d], winners.layout.strides[d]});
    }
    return outputs;
  }

  ConstTensorView input_;
  PoolWindows elements_;
  PoolWindows numbers_{};
  TapLoops taps_;
  TapLoops taps_in_numbers_;
};

void FindWinnersOf(const WinnersOfBox& box, const TensorView& maxima, const TensorView& winners) {
  const bool are_long = ByteWidth(winners.type) == sizeof(uint64_t);
  if (box.IsForVectors()) {
    if (are_long) return box.FindByVectors<uint64_t>(maxima, winners);
    return box.FindByVectors<uint32_t>(maxima, winners);
  }
  VisitDataType(Numbers(), maxima.type, [&]<typename T>() {
    const auto flipped = FlippedBits<T>(MinMax::kMax);
    if (are_long) {
      box.Find<Ordered<T>, uint64_t>(flipped, maxima, winners);
    } else {
      box.Find<Ordered<T>, uint32_t>(flipped, maxima, winners);
    }
  });
}

// Finds winners by sliding windows. Tensors without data are not computed.
template <typename T, typename Index>
void SlideWinners(const PoolDims& dims, const SlideAxes& axes, const ConstTensorView& input,
                  const TensorView& maxima, const TensorView& winners) {
  using Key = Ordered<T>;
  const Key* from = input.elements<Key>();
  const KeyOf<Key> flipped = FlippedBits<T>(MinMax::kMax);
  SlideFolds<Winner<Key>>(
      axes, dims, input.layout, winners.data != nullptr ? winners : maxima,
      [&](int64_t offset, int64_t number) {
        return Winner<Key>{KeyOrder<Key>::ToKey(from[offset], flipped), number};
      },
      [&](const Dims& index, const Winner<Key>& winner) {
        if (winners.data != nullptr) {
          Index& number = winners.elements<Index>()[OffsetOf(winners.layout, index)];
          number = static_cast<Index>(winner.number);
        }
        if (maxima.data == nullptr) return;
        Key& value = maxima.elements<Key>()[OffsetOf(maxima.layout, index)];
        value = winner.number < 0 ? std::bit_cast<Key>(LeastOf<T>())
                                  : ValueOf<Key>(winner.key, flipped);
      });
}

bool SlidWinners(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                 const TensorView& maxima, const TensorView& winners) {
  const Dims& sizes = winners.data != nullptr ? winners.layout.sizes : maxima.layout.sizes;
  const SlideAxes axes = TapAxes(dims, begin, sizes);
  if (!axes.AreLarge()) return false;
  VisitDataType(Numbers(), input.type, [&]<typename T>() {
    if (winners.data != nullptr && ByteWidth(winners.type) == sizeof(uint64_t)) {
      SlideWinners<T, uint64_t>(dims, axes, input, maxima, winners);
    } else {
      SlideWinners<T, uint32_t>(dims, axes, input, maxima, winners);
    }
  });
  return true;
}

TensorView PartIfWanted(const TensorView& view, const Dims& begin, const PoolBox& box) {
  if (view.data != nullptr) return PartOf(view, begin, box);
  TensorView part = view;
  for (size_t d = 0; d < box.size(); ++d) part.layout.sizes[d] = box[d].count;
  return part;
}

}  // namespace

void FindMaxima(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                const TensorView& maxima) {
  if (SlidWinners(dims, input, begin, maxima, {})) return;
  const PoolBoxes boxes(dims, begin, maxima.layout.sizes);
  for (int64_t i = 0; i < boxes.count(); ++i) {
    const PoolBox box = boxes.At(i);
    const TensorView part = PartOf(maxima, begin, box);
    if (HasTaps(box)) {
      ReduceWindows(ReduceFunction::kMax, dims, box, input, part);
    } else {
      FillWithoutTaps(part);
    }
  }
}

void FindWinners(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                 const TensorView& maxima, const TensorView& winners) {
  if (SlidWinners(dims, input, begin, maxima, winners)) return;
  const PoolBoxes boxes(dims, begin, winners.layout.sizes);
  for (int64_t i = 0; i < boxes.count(); ++i) {
    const PoolBox box = boxes.At(i);
    const TensorView values = PartIfWanted(maxima, begin, box);
    const TensorView indices = PartOf(winners, begin, box);
    if (HasTaps(box)) {
      FindWinnersOf(WinnersOfBox(dims, box, input), values, indices);
      continue;
    }
    ElementBytes none;
    none.fill(std::byte{0xFF});
    FillView(none, indices);
    if (values.data != nullptr) FillWithoutTaps(values);
  }
}

}  // namespace dmlop
