// SPDX-License-Identifier: Apache-2.0
// The samples of one region of an image: their places along one axis, and along both.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/index/place_rule.h"
#include "core/exact/dyadic.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The layout of samples along one axis, the same for all regions.
struct SampleRule {
  bool is_linear;  // or the nearest pixel, halves rounded down
  double scale;
  double input_offset, output_offset;
  uint32_t min_samples, max_samples;  // for one output; at least 1
  bool to_corners;                    // the first and the last sample lie on the corners
};

// Samples that lie at the same place.
struct SampleRun {
  int64_t low, high;  // pixels around it; equal if it lies on one
  double fraction;    // weight of `high`
  double count;       // at least 1
  // Places of the first and last of them in the region: 0 is its first corner, 1 its last.
  double first_place, last_place;
};

// Weights of consecutive pixels, summed over all samples of an output. Some may be 0.
struct PixelSpan {
  int64_t first = 0;
  std::vector<double> weights;
};

// A region has `outputs` outputs along the axis, each with as many samples, some of which may lie
// outside the bounds [-1, pixels] of the image. All operations are in FLOAT64, in the order of the
// reference page.
class SampleAxis {
 public:
  SampleAxis(const SampleRule& rule, double first_corner, double last_corner, int64_t outputs,
             int64_t pixels);

  // Number of samples of an output.
  uint64_t samples() const { return samples_; }

  // The consecutive samples of an output within bounds: how many precede them, and their number.
  struct Inside {
    uint64_t before, count;
  };
  Inside InsideOf(int64_t output) const;

  // Returns whether the pixel lies between the first and the last sample within bounds, or beside
  // one.
  bool Reaches(int64_t pixel) const;

  // These samples in their order. Each distinct place costs time.
  std::vector<SampleRun> RunsOf(int64_t output) const;

 private:
  double CoordinateOf(uint64_t sample) const;
  double PlaceOf(uint64_t sample) const;
  SampleRun RunAt(double coordinate) const;
  void FindBounds();
  template <typename Predicate>
  uint64_t FirstOf(uint64_t begin, uint64_t end, Predicate&& holds) const;

  const SampleRule& rule_;
  double start_;
  double length_;
  double last_pixel_;
  uint64_t samples_;
  uint64_t all_;        // samples of all outputs
  double intervals_;    // between the two corners
  uint64_t begin_ = 0;  // samples within bounds
  uint64_t end_ = 0;
};

// The runs of an output, turned into weights of pixels.
PixelSpan SpanOf(const std::vector<SampleRun>& runs);

// The rule by which regions are sampled, and the sizes {.., height, width} of the result.
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

// Returns whether samples of a region may lie on a pixel {.., y, x} or beside it, which costs less
// time than to list them. `sizes` are the image's, {N, C, H, W}.
bool MayReach(const RegionRule& rule, const Dims& sizes, const ConstTensorView& regions,
              int64_t region, const Dims& pixel);

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

// --- reductions of samples -----------------------------------------------------------------------

// The greatest of some numbers, as MAX_POOLING and REDUCE MAX define it. NaN is ignored, and is the
// result if there is no number; -0 is less than +0.
class Greatest {
 public:
  void Add(double value) {
    if (std::isnan(value)) return;
    if (!(value <= value_) || (value == value_ && std::signbit(value_))) value_ = value;
  }

  double value() const { return value_; }

 private:
  double value_ = std::numeric_limits<double>::quiet_NaN();
};

// The number of repetitions, as a product of integers up to 2^32.
struct Times {
  double rows, columns;
};

// `for_each_term(visit)` calls visit(times, value) for each number, which is a FLOAT32 or FLOAT16
// number that occurs at least once; `all` is the number of occurrences. T is float or Half.
template <typename T, typename ForEachTerm>
T ExactMean(const Times& all, ForEachTerm&& for_each_term) {
  double sum = 0;
  double magnitude = 0;
  double terms = 0;
  SpecialTerms specials;
  for_each_term([&](const Times& times, double value) {
    if (specials.Take(value)) return;
    const double term = times.rows * times.columns * value;
    sum += term;
    magnitude += std::fabs(term);
    terms += 1;
  });
  if (magnitude == 0 || !specials.are_finite()) return RoundOnce<T>(specials.sum());
  const double count = all.rows * all.columns;
  const double mean = sum / count;
  const double bound = (terms + 8) * 0x1p-52 * magnitude / count;
  if (const auto rounded = RoundWithin<T>({mean, 0}, bound)) return *rounded;
  Dyadic numerator;
  for_each_term([&](const Times& times, double value) {
    numerator = numerator + Dyadic(times.rows) * Dyadic(times.columns) * Dyadic(value);
  });
  return RoundRatio<T>(numerator, Dyadic(all.rows) * Dyadic(all.columns));
}

// --- alignment -----------------------------------------------------------------------------------

// Samples regions of images at a grid of points, and passes gradients of the samples back.

// The reduction of an output's samples.
struct SampleReduction {
  bool is_max;     // maximum instead of mean
  double outside;  // value of samples out of bounds
};

// Computes the part of the output {R, C, height, width} that begins at an index.
void AlignRegions(const RegionRule& rule, const SampleReduction& reduction,
                  const RegionTensors& tensors, const Dims& begin, const TensorView& output);

// --- the gradient --------------------------------------------------------------------------------

// The first of the greatest samples gets a maximum's whole gradient; samples out of bounds are 0.
struct AlignmentGradient {
  const RegionRule& rule;
  bool is_max;
  // The image, which always has sizes, has data if it is read: for a maximum and for the corners.
  const RegionTensors& tensors;
  const ConstTensorView& gradient;  // gradient of the outputs {R, C, height, width}
};

// The place of the sample of an output of a channel that has all of its gradient; none where that
// is out of bounds.
struct WinningSample {
  SampleRun y, x;
};
std::optional<WinningSample> WinnerOf(const RegionTensors& tensors, int64_t channel,
                                      const RegionSamples& samples, size_t row, size_t column);

// The gradient with respect to the image.
void GradientOfImage(const AlignmentGradient& alignment, const TensorView& output);

// The gradient with respect to the corners of the regions.
void GradientOfCorners(const AlignmentGradient& alignment, const TensorView& output);

// --- pooling -------------------------------------------------------------------------------------

// Finds the greatest elements in the bins of regions.

// The height and width that regions are pooled to.
struct PooledSizes {
  int64_t height, width;
};

// Regions are rows {batch, x1, y1, x2, y2} of a tensor {1, 1, R, 5}. Their corners, both of which
// belong to the region, are scaled and rounded to elements of the input. Computes the part of the
// output {R, C, height, width} that begins at an index; an empty bin gives 0. All tensors have the
// same type, FLOAT32 or FLOAT16.
void PoolRegions(float scale, const PooledSizes& pooled, const ConstTensorView& input,
                 const ConstTensorView& regions, const Dims& begin, const TensorView& output);

// The box of a region, scaled and rounded, and the elements that an output is the greatest of.
struct RegionBin {
  int64_t item;  // of the batch
  int64_t top, left, bottom, right;
  Range rows, columns;
};
RegionBin BinOf(float scale, const PooledSizes& pooled, const Dims& input_sizes,
                const ConstTensorView& regions, const Dims& output);

// Finds batches that, truncated, are not in [0, count - 1].
StrayIndices FindStrayBatches(const ConstTensorView& regions, int64_t count);

// The batches of such regions as a view {1, 1, R, 1}.
ConstTensorView BatchesOf(const ConstTensorView& regions);

}  // namespace dmlop
