// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/sliding_windows.h"

#include <iterator>
#include <numeric>

namespace dmlop {
namespace {

// Returns whether the only output is the only element.
bool HasNothingToDo(const SlideAxis& axis) {
  return axis.size == 1 && axis.outputs == 1 && axis.Line(0).Window(0).count() == 1;
}

// Returns the greatest number of places in a window, dilation included.
int64_t MostTaps(const SlideAxis& axis) {
  const bool has_taps = axis.kind == SlideAxis::kTaps;
  const int64_t window = has_taps ? axis.dim.window : CeilDiv(axis.dim.window, axis.dim.stride);
  const int64_t places = has_taps ? CeilDiv(axis.size, axis.dim.dilation) : axis.size;
  return std::min(window, places);
}

// Returns the padding for positions, or windows, and outputs that are counted from a part's first.
int64_t StartOf(SlideAxis::Kind kind, const WindowAxis& dim, int64_t input, int64_t output) {
  if (kind == SlideAxis::kTaps) return dim.start + input - output * dim.stride;
  return dim.start + output - input * dim.stride;
}

// `reached(d)` returns the range of the input that a part of the outputs depends on in dimension d.
template <typename Reached>
SlideAxes AxesOf(SlideAxis::Kind kind, const PoolDims& dims, const Dims& begin, const Dims& sizes,
                 Reached&& reached) {
  SlideAxes all;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Range part = reached(d);
    all.begin.push_back(part.begin);
    all.sizes.push_back(part.count());
    if (d < kFirstSpatial) continue;
    all.axes.push_back({kind, dims[d], part.count(), sizes[d], d});
    all.axes.back().dim.start = StartOf(kind, dims[d], part.begin, begin[d]);
  }
  return all;
}

}  // namespace

SlideLine SlideLine::Part(Range outputs_of_part) const {
  SlideLine part = *this;
  part.output = Output(outputs_of_part.begin);
  part.outputs = outputs_of_part.count();
  part.begin += outputs_of_part.begin * pace;
  part.end += outputs_of_part.begin * pace;
  return part;
}

int64_t SlideAxis::line_count() const {
  return std::min(dim.dilation / std::gcd(dim.stride, dim.dilation), outputs);
}

SlideLine SlideAxis::Line(int64_t i) const {
  if (kind == kWindows) {
    return {0,
            1,
            size,
            0,
            1,
            outputs,
            1,
            dim.start - dim.window + dim.stride,
            dim.start + dim.stride,
            dim.stride};
  }
  const int64_t apart = dim.dilation / std::gcd(dim.stride, dim.dilation);
  const int64_t position = dim.Position(i, 0);
  const int64_t begin = FloorDiv(position, dim.dilation);
  const int64_t first = position - begin * dim.dilation;
  const int64_t places = std::max<int64_t>(CeilDiv(size - first, dim.dilation), 0);
  return {first,
          dim.dilation,
          places,
          i,
          apart,
          (outputs - 1 - i) / apart + 1,
          dim.stride * apart / dim.dilation,
          begin,
          begin + dim.window};
}

SlideAxes TapAxes(const PoolDims& dims, const Dims& begin, const Dims& sizes) {
  return AxesOf(SlideAxis::kTaps, dims, begin, sizes, [&](size_t d) {
    const WindowAxis& dim = dims[d];
    const int64_t last = begin[d] + sizes[d] - 1;
    const Range reached = {dim.Position(begin[d], 0), dim.Position(last, dim.window - 1) + 1};
    return Intersection(reached, {0, dim.size});
  });
}

SlideAxes WindowAxes(const PoolDims& dims, const Dims& windows, const Dims& begin,
                     const Dims& sizes) {
  return AxesOf(SlideAxis::kWindows, dims, begin, sizes, [&](size_t d) {
    return dims[d].OutputsReaching({begin[d], begin[d] + sizes[d]}, windows[d]);
  });
}

bool SlideAxes::AreLarge() const {
  constexpr double kFewTaps = 1024;
  constexpr double kTapsInTheTimeOfOne = 128;
  double taps = 1;
  double elements = 1;
  double outputs = 1;
  for (const SlideAxis& axis : axes) {
    taps *= static_cast<double>(MostTaps(axis));
    elements *= static_cast<double>(axis.size);
    outputs *= static_cast<double>(axis.outputs);
  }
  return taps > kFewTaps && taps * outputs > kTapsInTheTimeOfOne * (elements + outputs);
}

// Axes with few outputs come first, since they reduce the work, and then the longest ones, since
// fewer totals remain to be kept.
std::vector<SlideAxis> InSlidingOrder(std::span<const SlideAxis> axes) {
  constexpr int64_t kMuchMore = 4;
  std::vector<SlideAxis> order;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(order),
               [](const SlideAxis& axis) { return !HasNothingToDo(axis); });
  if (order.empty()) order.push_back(axes[0]);
  const auto grows = [](const SlideAxis& axis) { return axis.outputs > kMuchMore * axis.size; };
  std::stable_sort(order.begin(), order.end(), [&](const SlideAxis& a, const SlideAxis& b) {
    return grows(a) != grows(b) ? grows(b) : a.size > b.size;
  });
  return order;
}

void ForEachChannel(const TensorView& outputs, int64_t shares,
                    const std::function<void(const Dims& index, int64_t share)>& body) {
  const Dims channels = {outputs.layout.sizes[0], outputs.layout.sizes[1]};
  ParallelFor(Product(channels) * shares, 1, outputs.element_bytes(),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  Dims index = IndexOf(channels, i / shares);
                  while (index.size() < outputs.layout.rank()) index.push_back(0);
                  body(index, i % shares);
                }
              });
}

void SlidingSum::Add(const SlidingSum& other, int64_t sign) {
  if (sign > 0) {
    sum_.Merge(other.sum_);
  } else {
    sum_.Remove(other.sum_);
  }
  others_ += sign * other.others_;
  nans_ += sign * other.nans_;
  infinities_ += sign * other.infinities_;
  negative_infinities_ += sign * other.negative_infinities_;
}

double SlidingSum::Special() const {
  if (nans_ != 0 || (infinities_ != 0 && negative_infinities_ != 0)) return NAN;
  return infinities_ != 0 ? INFINITY : -INFINITY;
}

}  // namespace dmlop
