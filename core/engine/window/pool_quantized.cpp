// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_sum.h"

#include <cstddef>
#include <cstdint>

#include "core/base/parallel.h"
#include "core/engine/window/sliding_windows.h"
#include "core/exact/exact_sum.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kGrainTaps = 1 << 14;

template <typename Number>
Number OfChannel(const std::vector<Number>& numbers, int64_t channel) {
  return numbers.size() == 1 ? numbers[0] : numbers[static_cast<size_t>(channel)];
}

// Computes the average of `taps` elements by `divisor`, as the bits of an element of 8 bits.
uint8_t Quantized(const QuantizedAverage& call, DataType type, int64_t channel, int64_t sum,
                  int64_t taps, Int128 divisor) {
  const double scale = OfChannel(call.input.scales, channel);
  const double output_scale = OfChannel(call.output.scales, channel);
  const int64_t zero_point = OfChannel(call.input.zero_points, channel);
  const int64_t least = type == DataType::kInt8 ? INT8_MIN : 0;
  const QuantizedRange range{OfChannel(call.output.zero_points, channel), least, least + UINT8_MAX};
  return static_cast<uint8_t>(
      Requantize(sum - taps * zero_point, {scale, 1, output_scale, divisor}, range));
}

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
  }

  void Run(const TensorView& averages) const {
    LoopNest<kOperands> outputs;
    for (size_t d = 0; d < averages.layout.rank(); ++d) {
      outputs.Push(averages.layout.sizes[d],
                   {strides_[d], averages.layout.strides[d], d == 1 ? 1 : 0});
    }
    outputs = Merged(outputs);
    uint8_t* to = averages.elements<uint8_t>();
    ParallelFor(Product(outputs.sizes), kGrainTaps / (taps_ + 1) + 1, averages.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  Walk<kOperands> walk(outputs, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    const int64_t channel = first_channel_ + walk.offset(kChannel);
                    to[walk.offset(kAverage)] =
                        Quantized(call_, averages.type, channel, SumAt(walk.offset(kWindow)), taps_,
                                  divisor_);
                  }
                });
  }

 private:
  enum Operand : size_t { kWindow, kAverage, kChannel, kOperands };

  int64_t SumAt(int64_t offset) const {
    int64_t sum = 0;
    if (taps_ == 0) return sum;
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
  SlideSums<IntegerSum>(axes, TermsOf(axes.PartOf(input), term), averages,
                        [&](const Dims& index, const IntegerSum& total) {
                          const int64_t taps = counts.Present(index);
                          *reinterpret_cast<uint8_t*>(ElementAt(averages, index)) =
                              Quantized(call, averages.type, begin[1] + index[1], total.sum, taps,
                                        call.counts_padding ? counts.Counted(index) : taps);
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
