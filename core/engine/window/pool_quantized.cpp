// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_sum.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/engine/window/sliding_windows.h"
#include "core/exact/exact_sum.h"
#include "core/kernels/window/pool_row.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

template <typename Number>
Number OfChannel(const std::vector<Number>& numbers, int64_t channel) {
  return numbers.size() == 1 ? numbers[0] : numbers[static_cast<size_t>(channel)];
}

// Computes averages of `taps` elements of a channel by `divisor`.
class Quantizer {
 public:
  Quantizer(const QuantizedAverage& call, DataType type, int64_t channel, int64_t taps,
            Int128 divisor)
      : zeros_(taps * OfChannel(call.input.zero_points, channel)),
        units_{OfChannel(call.input.scales, channel), 1, OfChannel(call.output.scales, channel),
               divisor} {
    const int64_t least = type == DataType::kInt8 ? INT8_MIN : 0;
    range_ = {OfChannel(call.output.zero_points, channel), least, least + UINT8_MAX};
  }

  // Returns the bits of an element of 8 bits.
  uint8_t operator()(int64_t sum) const {
    return static_cast<uint8_t>(Requantize(sum - zeros_, units_, range_));
  }

 private:
  int64_t zeros_;  // the sum of as many zero points
  UnitChange units_;
  QuantizedRange range_;
};

// A box of outputs.
template <typename T>
class AveragesOfBox {
 public:
  AveragesOfBox(const QuantizedAverage& call, const PoolDims& dims, const PoolBox& box,
                const ConstTensorView& input, const TensorView& averages)
      : call_(&call),
        first_channel_(box[1].begin),
        taps_(PresentTaps(box)),
        type_(averages.type),
        to_(averages.elements<uint8_t>()) {
    divisor_ = call.counts_padding ? CountedTaps(box) : taps_;
    Dims strides = Dims::Filled(dims.size(), 0);
    if (taps_ > 0) {
      const PoolWindows windows = WindowsOf(dims, box, input.layout);
      from_ = input.elements<T>() + windows.first;
      for (size_t d = 0; d < dims.size(); ++d) strides[d] = windows.layout.strides[d];
      loops_ = TapsOf(windows, dims.size());
      if (taps_ <= kMaxPoolTaps) offsets_ = OffsetsOf(loops_);
    }
    FindRows(strides, averages.layout);
  }

  int64_t rows() const { return Product(rows_.sizes); }
  int64_t taps() const { return rows() * count_ * (taps_ + 1); }

  void Run(Range rows) const {
    std::vector<int64_t> sums(static_cast<size_t>(count_));
    Walk<kOperands> walk(rows_, rows.begin);
    for (int64_t i = rows.begin; i < rows.end; ++i, walk.Next()) {
      SumRow(walk.offset(kWindow), sums);
      QuantizeRow(sums, walk.offset(kChannel), to_ + walk.offset(kAverage));
    }
  }

 private:
  enum Operand : size_t { kWindow, kAverage, kChannel, kOperands };

  // `strides` are the distances of windows.
  void FindRows(const Dims& strides, const Layout& averages) {
    const size_t row = PoolRowDimension(averages.sizes, strides);
    LoopNest<kOperands> outputs;
    for (size_t d = 0; d < averages.rank(); ++d) {
      outputs.Push(averages.sizes[d], {strides[d], averages.strides[d], d == 1 ? 1 : 0});
    }
    rows_ = Merged(Without(outputs, row));
    count_ = outputs.sizes[row];
    step_ = outputs.Step(row);
  }

  void QuantizeRow(const std::vector<int64_t>& sums, int64_t channel, uint8_t* average) const {
    const auto of_channel = [&](int64_t at) {
      return Quantizer(*call_, type_, first_channel_ + at, taps_, divisor_);
    };
    Quantizer quantizer = of_channel(channel);
    for (size_t i = 0; i < sums.size(); ++i, average += step_[kAverage]) {
      if (i > 0 && step_[kChannel] != 0) quantizer = of_channel(channel += step_[kChannel]);
      *average = quantizer(sums[i]);
    }
  }

  // Sums adjacent windows, the first of which is at an offset.
  void SumRow(int64_t offset, std::vector<int64_t>& sums) const {
    if (taps_ == 0) return;
    const int64_t step = step_[kWindow];
    if (taps_ <= kMaxPoolTaps) {
      const T* x = from_ + offset;
      return IntegerPoolSumKernelFor<T>()({x, step, std::ssize(sums), offsets_}, sums.data());
    }
    for (int64_t& sum : sums) {
      sum = SumAt(offset);
      offset += step;
    }
  }

  int64_t SumAt(int64_t offset) const {
    int64_t sum = 0;
    ForEachTap(loops_, [&](int64_t tap) { sum += from_[offset + tap]; });
    return sum;
  }

  const QuantizedAverage* call_;
  int64_t first_channel_;
  int64_t taps_;
  Int128 divisor_;
  const T* from_ = nullptr;
  DataType type_;
  uint8_t* to_;
  LoopNest<kOperands> rows_;
  int64_t count_ = 0;  // outputs of a row
  std::array<int64_t, kOperands> step_{};
  TapLoops loops_;
  std::vector<int64_t> offsets_;  // offsets of the taps, if they are few
};

struct IntegerSum {
  int64_t sum = 0;

  void Add(int64_t x, int64_t sign) { sum += sign * x; }
  void Add(const IntegerSum& other, int64_t sign) { sum += sign * other.sum; }
  void Settle() {}
};

// Computes a part of the output by sliding windows.
void SlideAverages(const QuantizedAverage& call, const PoolDims& dims, const SlideAxes& axes,
                   const ConstTensorView& input, const Dims& begin, const TensorView& averages) {
  const auto term = input.type == DataType::kInt8
                        ? +[](const std::byte* x) { return int64_t{ElementOf<int8_t>(x)}; }
                        : +[](const std::byte* x) { return int64_t{ElementOf<uint8_t>(x)}; };
  const TapCounts counts(dims, begin, averages.layout.sizes);
  SlideSums<IntegerSum>(
      axes, TermsOf(axes.PartOf(input), term), averages,
      [&](const Dims& index, const IntegerSum& total) {
        const int64_t taps = counts.Present(index);
        const Quantizer quantizer(call, averages.type, begin[1] + index[1], taps,
                                  call.counts_padding ? counts.Counted(index) : taps);
        *reinterpret_cast<uint8_t*>(ElementAt(averages, index)) = quantizer(total.sum);
      });
}

}  // namespace

void AverageQuantized(const QuantizedAverage& call, const PoolDims& dims,
                      const ConstTensorView& input, const Dims& begin, const TensorView& averages) {
  const SlideAxes axes = TapAxes(dims, begin, averages.layout.sizes);
  if (axes.AreLarge()) return SlideAverages(call, dims, axes, input, begin, averages);
  VisitDataType(Integers8(), input.type, [&]<typename T>() {
    const PoolBoxes boxes(dims, begin, averages.layout.sizes);
    std::vector<AveragesOfBox<T>> by_rows;
    for (int64_t i = 0; i < boxes.count(); ++i) {
      const PoolBox box = boxes.At(i);
      by_rows.emplace_back(call, dims, box, input, PartOf(averages, begin, box));
    }
    RunInShares(std::move(by_rows), averages.element_bytes());
  });
}

}  // namespace dmlop
