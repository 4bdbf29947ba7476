// SPDX-License-Identifier: Apache-2.0
// Windows along a dimension of an input.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/integers.h"

namespace dmlop {

// Windows lie along the dimensions behind N and C.
inline constexpr size_t kFirstSpatial = 2;

// Returns the steps i in [0, count) with start + i * step in [0, size).
inline Range StepsInside(int64_t start, int64_t step, int64_t count, int64_t size) {
  const auto steps_before = [&](int64_t distance) {
    if (step > 1) distance = (distance + step - 1) / step;
    return std::clamp(distance, int64_t{0}, count);
  };
  return {steps_before(-start), steps_before(size - start)};
}

// Returns step * (count - 1). It saturates at a distance too large for any tensor.
inline int64_t DistanceOf(int64_t step, int64_t count) {
  constexpr uint64_t kFar = uint64_t{1} << 60;
  const CheckedU64 distance =
      CheckedMul(static_cast<uint64_t>(step), static_cast<uint64_t>(count - 1));
  return static_cast<int64_t>(std::min(distance.value_or(kFar), kFar));
}

// Output p has taps at the positions p * stride - start + t * dilation; those outside of the input
// are absent. A tap is counted up to `end` positions after the input.
struct WindowAxis {
  int64_t size = 1;    // of the input
  int64_t window = 1;  // taps
  int64_t stride = 1, dilation = 1;
  int64_t start = 0, end = 0;  // padding; negative if the first window begins inside the input

  int64_t PaddedSize() const { return size + start + end; }
  // The positions from the first tap of a window up to the last one.
  int64_t Extent() const { return DistanceOf(dilation, window) + 1; }
  bool Fits() const { return Extent() <= PaddedSize(); }
  // The number of windows that fit; at least one must.
  int64_t Outputs() const { return (PaddedSize() - Extent()) / stride + 1; }
  // The least size for which there would be `size` windows; less than 1 if paddings are larger.
  int64_t Spanned() const { return DistanceOf(stride, size) + Extent() - start - end; }

  int64_t Position(int64_t output, int64_t tap) const {
    return output * stride - start + tap * dilation;
  }
  Range PresentTaps(int64_t output) const {
    return StepsInside(Position(output, 0), dilation, window, size);
  }
  int64_t CountedTaps(int64_t output) const {
    return StepsInside(output * stride, dilation, window, start + size + end).count();
  }
  // Returns the number of taps that an average divides by.
  int64_t TapCount(int64_t output, bool counts_padding) const {
    return counts_padding ? CountedTaps(output) : PresentTaps(output).count();
  }
  // Returns those of the first `outputs` outputs for which a tap has one of the positions.
  Range OutputsUnder(int64_t tap, Range positions, int64_t outputs) const {
    return StepsInside(Position(0, tap) - positions.begin, stride, outputs, positions.count());
  }
  Range OutputsInside(int64_t tap, int64_t outputs) const {
    return OutputsUnder(tap, {0, size}, outputs);
  }
  // Returns the elements from the first that a tap reads for the outputs up to the last one.
  Range InputsUnder(int64_t tap, Range outputs) const {
    const Range inside = Intersection(OutputsInside(tap, outputs.end), outputs);
    if (inside.count() <= 0) return {0, 0};
    return {Position(inside.begin, tap), Position(inside.end - 1, tap) + 1};
  }
  // Returns those of the first `outputs` outputs whose windows span some of the positions.
  Range OutputsReaching(Range positions, int64_t outputs) const {
    const int64_t first = CeilDiv(positions.begin + start - (window - 1) * dilation, stride);
    const int64_t last = FloorDiv(positions.end - 1 + start, stride);
    return Intersection({first, last + 1}, {0, outputs});
  }
};

}  // namespace dmlop
