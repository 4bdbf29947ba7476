#include "core/engine/window/pool_quantized.h"

#include <algorithm>
#include <limits>

#include "core/base/parallel.h"
#include "core/exact/round_scaled.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kGrainTaps = 1 << 14;

template <typename Number>
Number OfChannel(const std::vector<Number>& numbers, int64_t channel) {
  return numbers.size() == 1 ? numbers[0] : numbers[static_cast<size_t>(channel)];
}

// One box of outputs.
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

  template <typename Output>
  void Run(const TensorView& averages) const {
    LoopNest<kOperands> outputs;
    for (size_t d = 0; d < averages.layout.rank(); ++d) {
      outputs.Push(averages.layout.sizes[d],
                   {strides_[d], averages.layout.strides[d], d == 1 ? 1 : 0});
    }
    outputs = Merged(outputs);
    Output* to = averages.elements<Output>();
    ParallelFor(Product(outputs.sizes), kGrainTaps / (taps_ + 1) + 1, averages.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  Walk<kOperands> walk(outputs, begin);
                  for (int64_t i = begin; i < end; ++i, walk.Next()) {
                    const int64_t channel = first_channel_ + walk.offset(kChannel);
                    to[walk.offset(kAverage)] =
                        Quantized<Output>(SumAt(walk.offset(kWindow)), channel);
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

  template <typename Output>
  Output Quantized(int64_t sum, int64_t channel) const {
    const int64_t zero_point = OfChannel(call_.input.zero_points, channel);
    const int64_t rounded =
        RoundScaled(sum - taps_ * zero_point, OfChannel(call_.input.scales, channel), divisor_,
                    OfChannel(call_.output.scales, channel));
    const int64_t result = rounded + OfChannel(call_.output.zero_points, channel);
    using Range = std::numeric_limits<Output>;
    return static_cast<Output>(std::clamp<int64_t>(result, Range::min(), Range::max()));
  }

  const QuantizedAverage& call_;
  int64_t first_channel_;
  int64_t taps_;
  Int128 divisor_;
  const T* from_ = nullptr;
  Dims strides_;  // from window to window
  TapLoops loops_;
};

}  // namespace

void AverageQuantized(const QuantizedAverage& call, const PoolDims& dims,
                      const ConstTensorView& input, const Dims& begin, const TensorView& averages) {
  const PoolBoxes boxes(dims, begin, averages.layout.sizes);
  for (int64_t i = 0; i < boxes.count(); ++i) {
    const PoolBox box = boxes.At(i);
    VisitDataType(Integers8(), input.type, [&]<typename T>() {
      const AveragesOfBox<T> work(call, dims, box, input);
      VisitDataType(Integers8(), averages.type, [&]<typename Output>() {
        work.template Run<Output>(PartOf(averages, begin, box));
      });
    });
  }
}

}  // namespace dmlop
