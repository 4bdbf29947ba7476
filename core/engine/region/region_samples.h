// SPDX-License-Identifier: Apache-2.0
// The samples of one region of an image along both axes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/region/sample_axis.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// How regions are sampled, and the sizes {.., height, width} of the result.
struct RegionRule {
  SampleRule y, x;
  int64_t height, width;
};

// The image {N, C, H, W}; the corners, rows {x1, y1, x2, y2} of a tensor {.., R, 4} of the same
// type, FLOAT32 or FLOAT16; and the batch of each region, {.., R} of UINT32 or UINT64.
struct RegionTensors {
  ConstTensorView image, regions, batches;

  int64_t count() const { return batches.layout.sizes.back(); }
};

// The samples of one row or one column of the outputs.
struct OutputSamples {
  SampleAxis::Inside inside;
  std::vector<SampleRun> runs;
  PixelSpan span;
};

// The samples of consecutive outputs along one axis of a region.
struct AxisSamples {
  uint64_t samples;  // for each output
  std::vector<OutputSamples> outputs;
};

struct RegionSamples {
  int64_t batch;  // clamped
  AxisSamples rows, columns;
};

// A part of the outputs of one region.
struct OutputPart {
  int64_t first_row, rows, first_column, columns;
};

// The batch of a region, clamped to the count.
int64_t BatchOf(const ConstTensorView& batches, int64_t region, int64_t count);

// `sizes` are the image's, {N, C, H, W}.
RegionSamples SamplesOf(const RegionRule& rule, const Dims& sizes, const ConstTensorView& regions,
                        const ConstTensorView& batches, int64_t region, const OutputPart& part);

// One channel of an image.
template <typename T>
struct Plane {
  const T* elements;
  int64_t row_stride, column_stride;

  double At(int64_t y, int64_t x) const {
    return AsDouble(elements[y * row_stride + x * column_stride]);
  }
};

// The plane of one channel of one batch.
template <typename T>
Plane<T> PlaneOf(const ConstTensorView& image, int64_t batch, int64_t channel) {
  const Dims& strides = image.layout.strides;
  return {image.elements<T>() + batch * strides[0] + channel * strides[1], strides[2], strides[3]};
}

// (1 - fraction) * a + fraction * b, without a term of weight 0. Equal numbers give that number
// exactly: a rounding error would make one of several equal samples win.
inline double Between(double a, double b, double fraction) {
  const bool is_a = fraction == 0 || (a == b && a != 0);
  return is_a ? a : (1 - fraction) * a + fraction * b;
}

template <typename T>
double Interpolated(const Plane<T>& plane, const SampleRun& y, const SampleRun& x) {
  return Between(Between(plane.At(y.low, x.low), plane.At(y.low, x.high), x.fraction),
                 Between(plane.At(y.high, x.low), plane.At(y.high, x.high), x.fraction),
                 y.fraction);
}

}  // namespace dmlop
