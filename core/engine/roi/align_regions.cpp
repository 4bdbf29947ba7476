// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/engine/roi/region_samples.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kGrainOutputs = 1 << 10;

// One output element with its rows and columns of samples.
struct Grid {
  uint64_t row_samples, column_samples;
  const OutputSamples& rows;
  const OutputSamples& columns;

  Times All() const {
    return {static_cast<double>(row_samples), static_cast<double>(column_samples)};
  }
  // Calls visit(times) for samples out of bounds, if there are any.
  template <typename Visit>
  void ForOutside(Visit&& visit) const {
    const Times all = All();
    const double inside = static_cast<double>(rows.inside.count);
    const double inside_of_row = static_cast<double>(columns.inside.count);
    if (inside < all.rows) visit(Times{all.rows - inside, all.columns});
    if (inside > 0 && inside_of_row < all.columns) {
      visit(Times{inside, all.columns - inside_of_row});
    }
  }
};

template <typename T>
class Alignment {
 public:
  Alignment(const RegionRule& rule, const SampleReduction& reduction, const RegionTensors& tensors,
            const Dims& begin, const TensorView& output)
      : rule_(rule), reduction_(reduction), tensors_(tensors), begin_(begin), output_(output) {}

  void Run() const {
    const Dims& sizes = output_.layout.sizes;
    const int64_t grain = std::max<int64_t>(1, kGrainOutputs / (sizes[2] * sizes[3]));
    ParallelFor(sizes[0] * sizes[1], grain, output_.element_bytes(),
                [&](int64_t first, int64_t last) {
                  std::optional<RegionSamples> samples;
                  for (int64_t i = first; i < last; ++i) {
                    const int64_t channel = i % sizes[1];
                    if (i == first || channel == 0) samples = SamplesAt(i / sizes[1]);
                    AlignPlane(*samples, i / sizes[1], channel);
                  }
                });
  }

 private:
  RegionSamples SamplesAt(int64_t region) const {
    const Dims& sizes = output_.layout.sizes;
    return SamplesOf(rule_, tensors_.image.layout.sizes, tensors_.regions, tensors_.batches,
                     begin_[0] + region, {begin_[2], sizes[2], begin_[3], sizes[3]});
  }

  // Computes one channel of a region.
  void AlignPlane(const RegionSamples& samples, int64_t region, int64_t channel) const {
    const Plane<T> plane = PlaneOf<T>(tensors_.image, samples.batch, begin_[1] + channel);
    const Dims& strides = output_.layout.strides;
    T* row = output_.elements<T>() + region * strides[0] + channel * strides[1];
    for (const OutputSamples& rows : samples.rows.outputs) {
      T* to = row;
      for (const OutputSamples& columns : samples.columns.outputs) {
        *to = Reduced(plane, {samples.rows.samples, samples.columns.samples, rows, columns});
        to += strides[3];
      }
      row += strides[2];
    }
  }

  T Reduced(const Plane<T>& plane, const Grid& grid) const {
    if (reduction_.is_max) return GreatestOf(plane, grid);
    return rule_.y.is_linear ? LinearMean(plane, grid) : NearestMean(plane, grid);
  }

  T GreatestOf(const Plane<T>& plane, const Grid& grid) const {
    Greatest greatest;
    grid.ForOutside([&](const Times&) { greatest.Add(reduction_.outside); });
    for (const SampleRun& y : grid.rows.runs) {
      for (const SampleRun& x : grid.columns.runs) greatest.Add(Interpolated(plane, y, x));
    }
    return RoundOnce<T>(greatest.value());
  }

  // Sums the weights of each row and each column of pixels first.
  T LinearMean(const Plane<T>& plane, const Grid& grid) const {
    double sum = 0;
    ForPixels(grid.rows.span, [&](int64_t y, double row_weight) {
      double row_sum = 0;
      ForPixels(grid.columns.span,
                [&](int64_t x, double weight) { row_sum += weight * plane.At(y, x); });
      sum += row_weight * row_sum;
    });
    grid.ForOutside(
        [&](const Times& times) { sum += times.rows * times.columns * reduction_.outside; });
    const Times all = grid.All();
    return RoundOnce<T>(sum / (all.rows * all.columns));
  }

  T NearestMean(const Plane<T>& plane, const Grid& grid) const {
    return ExactMean<T>(grid.All(), [&](auto&& visit) {
      ForPixels(grid.rows.span, [&](int64_t y, double rows) {
        ForPixels(grid.columns.span, [&](int64_t x, double columns) {
          visit(Times{rows, columns}, plane.At(y, x));
        });
      });
      grid.ForOutside([&](const Times& times) { visit(times, reduction_.outside); });
    });
  }

  // Visits the pixels that have a weight. Without rows there are no columns, and vice versa.
  template <typename Visit>
  static void ForPixels(const PixelSpan& span, Visit&& visit) {
    int64_t pixel = span.first;
    for (const double weight : span.weights) {
      if (weight != 0) visit(pixel, weight);
      ++pixel;
    }
  }

  const RegionRule& rule_;
  const SampleReduction& reduction_;
  const RegionTensors& tensors_;
  const Dims& begin_;
  const TensorView& output_;
};

}  // namespace

void AlignRegions(const RegionRule& rule, const SampleReduction& reduction,
                  const RegionTensors& tensors, const Dims& begin, const TensorView& output) {
  VisitDataType(Floats(), output.type,
                [&]<typename T>() { Alignment<T>(rule, reduction, tensors, begin, output).Run(); });
}

// --- pooling -------------------------------------------------------------------------------------

namespace {

// Truncates and clamps to the range; NaN counts as 0.
int64_t Saturated(double value, int64_t least, int64_t most) {
  if (std::isnan(value)) return std::clamp<int64_t>(0, least, most);
  return static_cast<int64_t>(
      std::clamp(value, static_cast<double>(least), static_cast<double>(most)));
}

// The bins along one axis of a region.
class Bins {
 public:
  Bins(double first, double last, float scale, int64_t count, int64_t size)
      : begin_(Scaled(first, scale)),
        last_(Scaled(last, scale)),
        length_(static_cast<uint64_t>(std::max<int64_t>(last_ - begin_ + 1, 1))),
        count_(static_cast<uint64_t>(count)),
        size_(size) {}

  int64_t first() const { return begin_; }
  int64_t last() const { return last_; }

  // The range of input elements that belong to output i.
  Range At(int64_t i) const {
    // 64 bits hold the products of two 32-bit numbers.
    const uint64_t number = static_cast<uint64_t>(i);
    return {Inside(number * length_ / count_),
            Inside(((number + 1) * length_ + count_ - 1) / count_)};
  }

 private:
  static int64_t Scaled(double corner, float scale) {
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    return Saturated(std::round(corner * double{scale}), kLeast, kMost);
  }

  int64_t Inside(uint64_t offset) const {
    return std::clamp<int64_t>(static_cast<int64_t>(offset) + begin_, 0, size_);
  }

  int64_t begin_, last_;
  uint64_t length_;
  uint64_t count_;
  int64_t size_;
};

// A region of images, from whose sizes its bins are cut.
struct RegionBins {
  int64_t item;  // of the batch
  Bins rows, columns;
};

RegionBins BinsOf(float scale, const PooledSizes& pooled, const Dims& sizes,
                  const ConstTensorView& regions, int64_t region) {
  const auto corner = [&](int64_t k) {
    double value = 0;
    VisitDataType(Floats(), regions.type, [&]<typename T>() {
      const Dims& strides = regions.layout.strides;
      value = AsDouble(regions.elements<T>()[region * strides[2] + k * strides[3]]);
    });
    return value;
  };
  return {Saturated(corner(0), 0, sizes[0] - 1),
          Bins(corner(2), corner(4), scale, pooled.height, sizes[2]),
          Bins(corner(1), corner(3), scale, pooled.width, sizes[3])};
}

template <typename T>
class Pool {
 public:
  Pool(float scale, const PooledSizes& pooled, const ConstTensorView& input,
       const ConstTensorView& regions, const Dims& begin, const TensorView& output)
      : scale_(scale),
        pooled_(pooled),
        input_(input),
        regions_(regions),
        begin_(begin),
        output_(output) {}

  void Run() const {
    const Dims& sizes = output_.layout.sizes;
    ParallelFor(sizes[0] * sizes[1], 1, output_.element_bytes(), [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) PoolPlane(i / sizes[1], i % sizes[1]);
    });
  }

 private:
  // Computes one channel of a region.
  void PoolPlane(int64_t region, int64_t channel) const {
    const Dims& strides = input_.layout.strides;
    const RegionBins bins =
        BinsOf(scale_, pooled_, input_.layout.sizes, regions_, begin_[0] + region);
    const T* const plane =
        input_.elements<T>() + bins.item * strides[0] + (begin_[1] + channel) * strides[1];
    const Dims& to_strides = output_.layout.strides;
    T* const to = output_.elements<T>() + region * to_strides[0] + channel * to_strides[1];
    for (int64_t i = 0; i < output_.layout.sizes[2]; ++i) {
      for (int64_t j = 0; j < output_.layout.sizes[3]; ++j) {
        to[i * to_strides[2] + j * to_strides[3]] =
            GreatestIn(plane, bins.rows.At(begin_[2] + i), bins.columns.At(begin_[3] + j));
      }
    }
  }

  T GreatestIn(const T* plane, Range rows, Range columns) const {
    if (rows.begin >= rows.end || columns.begin >= columns.end) return T{};
    const Dims& strides = input_.layout.strides;
    Greatest greatest;
    for (int64_t y = rows.begin; y < rows.end; ++y) {
      for (int64_t x = columns.begin; x < columns.end; ++x) {
        greatest.Add(AsDouble(plane[y * strides[2] + x * strides[3]]));
      }
    }
    return RoundOnce<T>(greatest.value());
  }

  float scale_;
  const PooledSizes& pooled_;
  const ConstTensorView& input_;
  const ConstTensorView& regions_;
  const Dims& begin_;
  const TensorView& output_;
};

}  // namespace

void PoolRegions(float scale, const PooledSizes& pooled, const ConstTensorView& input,
                 const ConstTensorView& regions, const Dims& begin, const TensorView& output) {
  VisitDataType(Floats(), input.type,
                [&]<typename T>() { Pool<T>(scale, pooled, input, regions, begin, output).Run(); });
}

RegionBin BinOf(float scale, const PooledSizes& pooled, const Dims& input_sizes,
                const ConstTensorView& regions, const Dims& output) {
  const RegionBins bins = BinsOf(scale, pooled, input_sizes, regions, output[0]);
  return {bins.item,           bins.rows.first(),       bins.columns.first(),      bins.rows.last(),
          bins.columns.last(), bins.rows.At(output[2]), bins.columns.At(output[3])};
}

ConstTensorView BatchesOf(const ConstTensorView& regions) {
  return regions.Slice(3, 0, 1);
}

StrayIndices FindStrayBatches(const ConstTensorView& regions, int64_t count) {
  StrayIndices stray;
  VisitDataType(Floats(), regions.type, [&]<typename T>() {
    for (int64_t region = 0; region < regions.layout.sizes[2]; ++region) {
      const double batch = AsDouble(regions.elements<T>()[region * regions.layout.strides[2]]);
      if (batch > -1 && batch < static_cast<double>(count)) continue;
      if (stray.count++ > 0) continue;
      stray.first = region;
      stray.first_value = NumberText(batch);
    }
  });
  return stray;
}

}  // namespace dmlop
