// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/base/parallel.h"
#include "core/engine/window/sliding_windows.h"
#include "core/exact/rounding.h"
#include "core/kernels/reduce/min_max.h"
#include "core/kernels/window/pool_row.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using Elements = Join<Floats, Integers64, Integers32, Integers16, Integers8>;

template <typename T>
T LeastOf() {
  if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::min();
  if constexpr (!std::is_integral_v<T>) return RoundOnce<T>(-INFINITY);
}

ElementBytes LeastValue(DataType type) {
  ElementBytes bytes{};
  VisitDataType(Elements(), type, [&]<typename T>() {
    const T least = LeastOf<T>();
    std::memcpy(bytes.data(), &least, sizeof least);
  });
  return bytes;
}

// --- maxima --------------------------------------------------------------------------------------

template <typename T>
struct MaximaOfRow {
  PoolMaxKernel<T> kernel;
  KeyOf<T> flipped;

  void operator()(const PoolRow<T>& row, const TapLoops&, T* maxima) const {
    kernel(row, flipped, maxima);
  }
};

template <typename T>
struct Maxima {
  DataType type;
  KeyOf<T> flipped;

  ElementBytes WithoutTaps(const PoolBox&) const { return LeastValue(type); }
  bool IsReduction(const PoolBox& box) const { return dmlop::IsReduction(box); }
  ReduceFunction Reduction() const { return ReduceFunction::kMax; }
  MaximaOfRow<T> RowsOf(const PoolBox&) const { return {PoolMaxKernelFor<T>(), flipped}; }
};

// --- winners -------------------------------------------------------------------------------------

// An element's key, of any type, and its number.
struct Winner {
  int64_t key = std::numeric_limits<int64_t>::min();
  int64_t number = -1;

  void Take(int64_t other, int64_t its_number) {
    const bool wins = other > key || number < 0;
    key = wins ? other : key;
    number = wins ? its_number : number;
  }
};

// The number -1, which stands for none, comes after all others once it is unsigned.
Winner Combined(const Winner& a, const Winner& b) {
  const bool is_before = static_cast<uint64_t>(b.number) < static_cast<uint64_t>(a.number);
  return b.key > a.key || (b.key == a.key && is_before) ? b : a;
}

template <typename T>
Winner WinnerOf(const TapLoops& taps, const TapLoops& in_numbers, const T* from, int64_t number,
                KeyOf<T> flipped) {
  Winner winner;
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
T ValueOf(int64_t own_key, KeyOf<T> flipped) {
  const auto key = static_cast<KeyOf<T>>(own_key);
  if constexpr (!std::is_integral_v<T>) {
    if (key == KeyOrder<T>::kLeast) return RoundOnce<T>(NAN);
  }
  return KeyOrder<T>::FromKey(key, flipped);
}

// Elements of a tensor of UINT32 or UINT64.
class Numbers {
 public:
  explicit Numbers(const TensorView& view)
      : data_(view.data), are_long_(ByteWidth(view.type) == sizeof(uint64_t)) {}

  void Set(int64_t offset, int64_t number) const {
    if (are_long_) {
      reinterpret_cast<uint64_t*>(data_)[offset] = static_cast<uint64_t>(number);
    } else {
      reinterpret_cast<uint32_t*>(data_)[offset] = static_cast<uint32_t>(number);
    }
  }

 private:
  std::byte* data_;
  bool are_long_;
};

// A box of outputs whose windows have taps.
class WinnersOfBox {
 public:
  WinnersOfBox(const PoolDims& dims, const PoolBox& box, const ConstTensorView& input)
      : input_(input), elements_(WindowsOf(dims, box, input.layout)) {
    // The same windows in a packed tensor give the numbers of elements.
    Dims sizes;
    for (const WindowAxis& dim : dims) sizes.push_back(dim.size);
    numbers_ = WindowsOf(dims, box, PackedLayout(sizes));
    taps_ = TapsOf(elements_, dims.size());
    taps_in_numbers_ = TapsOf(numbers_, dims.size());
  }

  template <typename T>
  void Find(KeyOf<T> flipped, const TensorView& maxima, const TensorView& winners) const {
    const int64_t taps = taps_.count();
    const LoopNest<kOperands> outputs = Merged(OutputLoops(maxima, winners));
    const T* from = input_.elements<T>() + elements_.first;
    T* values = maxima.elements<T>();
    const Numbers indices(winners);
    ParallelFor(Product(outputs.sizes), kGrainTaps / taps + 1, winners.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  Walk<kOperands> walk(outputs, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    const Winner winner =
                        WinnerOf(taps_, taps_in_numbers_, from + walk.offset(kWindow),
                                 numbers_.first + walk.offset(kNumber), flipped);
                    indices.Set(walk.offset(kWinner), winner.number);
                    if (values == nullptr) continue;
                    values[walk.offset(kValue)] = ValueOf<T>(winner.key, flipped);
                  }
                });
  }

  // Does the same for FLOAT32 with vectors.
  void FindByVectors(const TensorView& maxima, const TensorView& winners) const {
    const LoopNest<kOperands> outputs = OutputLoops(maxima, winners);
    const size_t row = PoolRowDimension(outputs.sizes, outputs.strides[kWindow]);
    const LoopNest<kOperands> rows = Merged(Without(outputs, row));
    const int64_t length = outputs.sizes[row];
    const VectorWork work{PoolWinnerKernelFor(),
                          OffsetsOf(taps_),
                          OffsetsOf(taps_in_numbers_),
                          outputs.Step(row),
                          input_.elements<float>() + elements_.first,
                          maxima.elements<float>(),
                          Numbers(winners)};
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

  struct VectorWork {
    PoolWinnerKernel kernel;
    std::vector<int64_t> offsets, numbers;  // for each tap
    Places step;
    const float* from;
    float* values;
    Numbers indices;

    // Computes `count` outputs from `places` on, and advances these.
    void Run(int64_t count, std::vector<int32_t>& keys, std::vector<int32_t>& taps,
             Places& places) const {
      kernel({from + places[kWindow], step[kWindow], count, offsets}, keys.data(), taps.data());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        indices.Set(places[kWinner], places[kNumber] + numbers[static_cast<size_t>(taps[i])]);
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
  if (box.IsForVectors()) return box.FindByVectors(maxima, winners);
  VisitDataType(Elements(), maxima.type, [&]<typename T>() {
    box.Find<Ordered<T>>(FlippedBits<T>(MinMax::kMax), maxima, winners);
  });
}

// Converts elements of one type to keys and back.
struct Keys {
  int64_t (*of)(const std::byte* element);
  void (*to)(const Winner& winner, std::byte* maximum);
};

template <typename T>
constexpr Keys KeysOfType() {
  using Key = Ordered<T>;
  return {[](const std::byte* element) -> int64_t {
            return KeyOrder<Key>::ToKey(ElementOf<Key>(element), FlippedBits<T>(MinMax::kMax));
          },
          [](const Winner& winner, std::byte* maximum) {
            const Key value = winner.number < 0
                                  ? std::bit_cast<Key>(LeastOf<T>())
                                  : ValueOf<Key>(winner.key, FlippedBits<T>(MinMax::kMax));
            std::memcpy(maximum, &value, sizeof value);
          }};
}

// Finds winners by sliding windows. Tensors without data are not computed.
void SlideWinners(const Keys& keys, const PoolDims& dims, const SlideAxes& axes,
                  const ConstTensorView& input, const TensorView& maxima,
                  const TensorView& winners) {
  const auto width = static_cast<int64_t>(ByteWidth(input.type));
  SlideFolds<Winner>(
      axes, dims, input.layout, winners.data != nullptr ? winners : maxima,
      [&](int64_t offset, int64_t number) {
        return Winner{keys.of(input.data + offset * width), number};
      },
      [&](const Dims& index, const Winner& winner) {
        if (winners.data != nullptr) {
          Numbers(winners).Set(OffsetOf(winners.layout, index), winner.number);
        }
        if (maxima.data != nullptr) keys.to(winner, ElementAt(maxima, index));
      });
}

bool SlidWinners(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                 const TensorView& maxima, const TensorView& winners) {
  const Dims& sizes = winners.data != nullptr ? winners.layout.sizes : maxima.layout.sizes;
  const SlideAxes axes = TapAxes(dims, begin, sizes);
  if (!axes.AreLarge()) return false;
  VisitDataType(Elements(), input.type, [&]<typename T>() {
    SlideWinners(KeysOfType<T>(), dims, axes, input, maxima, winners);
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
  VisitDataType(Elements(), input.type, [&]<typename T>() {
    const Maxima<Ordered<T>> pooling{input.type, FlippedBits<T>(MinMax::kMax)};
    RunBoxes<Ordered<T>>(pooling, dims, input, begin, maxima);
  });
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
    if (values.data != nullptr) FillView(LeastValue(values.type), values);
  }
}

}  // namespace dmlop
