// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/align_regions.h"

#include <algorithm>
#include <optional>

#include "core/base/parallel.h"
#include "core/engine/region/region_samples.h"
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

}  // namespace dmlop
