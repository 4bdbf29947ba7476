// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_sum.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/parallel.h"
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
                const ConstTensorView& input)
      : call_(call), first_channel_(box[1].begin), taps_(PresentTaps(box)) {
    divisor_ = call.counts_padding ? CountedTaps(box) : taps_;
    strides_ = Dims::Filled(dims.size(), 0);
    if (taps_ == 0) return;
    const PoolWindows windows = WindowsOf(dims, box, input.layout);
    from_ = input.elements<T>() + windows.first;
    for (size_t d = 0; d < dims.size(); ++d) strides_[d] = windows.layout.strides[d];
    loops_ = TapsOf(windows, dims.size());
    if (taps_ <= kMaxPoolTaps) offsets_ = OffsetsOf(loops_);
  }

  void Run(const TensorView& averages) const {
    const size_t row = PoolRowDimension(averages.layout.sizes, strides_);
    LoopNest<kOperands> outputs;
    for (size_t d = 0; d < averages.layout.rank(); ++d) {
      outputs.Push(averages.layout.sizes[d],
                   {strides_[d], averages.layout.strides[d], d == 1 ? 1 : 0});
    }
    const LoopNest<kOperands> rows = Merged(Without(outputs, row));
    const int64_t count = outputs.sizes[row];
    const auto step = outputs.Step(row);
    uint8_t* to = averages.elements<uint8_t>();
    ParallelFor(Product(rows.sizes), kGrainTaps / (count * (taps_ + 1)) + 1,
                averages.element_bytes(), [&](int64_t begin, int64_t end) {
                  std::vector<int64_t> sums(static_cast<size_t>(count));
                  Walk<kOperands> walk(rows, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    SumRow(walk.offset(kWindow), step[kWindow], sums);
                    QuantizeRow(sums, averages.type, walk.offset(kChannel), step,
                                to + walk.offset(kAverage));
                  }
                });
  }

 private:
  enum Operand : size_t { kWindow, kAverage, kChannel, kOperands };

  void QuantizeRow(const std::vector<int64_t>& sums, DataType type, int64_t channel,
                   const std::array<int64_t, kOperands>& step, uint8_t* average) const {
    const auto of_channel = [&](int64_t at) {
      return Quantizer(call_, type, first_channel_ + at, taps_, divisor_);
    };
    Quantizer quantizer = of_channel(channel);
    for (size_t i = 0; i < sums.size(); ++i, average += step[kAverage]) {
      if (i > 0 && step[kChannel] != 0) quantizer = of_channel(channel += step[kChannel]);
      *average = quantizer(sums[i]);
    }
  }

  // Sums adjacent windows, the first of which is at an offset.
  void SumRow(int64_t offset, int64_t step, std::vector<int64_t>& sums) const {
    if (taps_ == 0) return;
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
    for (int64_t a = 0; a < loops_.sizes[0]; ++a) {
      for (int64_t b = 0; b < loops_.sizes[1]; ++b) {
        const T* x = from_ + offset + a * loops_.steps[0] + b * loops_.steps[1];
        for (int64_t c = 0; c < loops_.sizes[2]; ++c) sum += x[c * loops_.steps[2]];
      }
    }
    return sum;
  }

  const QuantizedAverage& call_;
  int64_t first_channel_;
  int64_t taps_;
  Int128 divisor_;
  const T* from_ = nullptr;
  Dims strides_;  // from window to window
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
  const PoolBoxes boxes(dims, begin, averages.layout.sizes);
  for (int64_t i = 0; i < boxes.count(); ++i) {
    const PoolBox box = boxes.At(i);
    VisitDataType(Integers8(), input.type, [&]<typename T>() {
      AveragesOfBox<T>(call, dims, box, input).Run(PartOf(averages, begin, box));
    });
  }
}

}  // namespace dmlop
