// SPDX-License-Identifier: Apache-2.0
#include "core/engine/roi/region_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/base/parallel.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kChannels = 8;  // channels that share the samples of a region

bool IsGreater(double a, double b) {
  return a > b || (a == b && std::signbit(b) && !std::signbit(a));
}

// The first of the greatest samples within the bounds.
struct Winner {
  const SampleRun* y = nullptr;
  const SampleRun* x = nullptr;
  double value = 0;
};

template <typename T>
Winner WinnerInside(const Plane<T>& plane, const OutputSamples& rows,
                    const OutputSamples& columns) {
  Winner winner;
  for (const SampleRun& y : rows.runs) {
    for (const SampleRun& x : columns.runs) {
      const double value = Interpolated(plane, y, x);
      const bool is_first = winner.y == nullptr;
      const bool beats =
          std::isnan(winner.value) ? !std::isnan(value) : IsGreater(value, winner.value);
      if (is_first || beats) winner = {&y, &x, value};
    }
  }
  return winner;
}

// The first of the greatest samples, with 0 out of bounds; empty if that one is out of bounds.
template <typename T>
Winner WinnerOf(const Plane<T>& plane, const RegionSamples& samples, const OutputSamples& rows,
                const OutputSamples& columns) {
  const Winner winner = WinnerInside(plane, rows, columns);
  const bool is_row_cut = rows.inside.count < samples.rows.samples;
  const bool is_column_cut = columns.inside.count < samples.columns.samples;
  if (winner.y == nullptr || (!is_row_cut && !is_column_cut)) return winner;
  if (IsGreater(winner.value, 0)) return winner;
  const bool ties = winner.value == 0 && !std::signbit(winner.value);
  if (!ties || rows.inside.before > 0 || columns.inside.before > 0) return {};
  // The first row of samples begins within the bounds, so its samples out of bounds come later.
  const bool is_in_first_row = winner.y == rows.runs.data();
  return !is_column_cut || is_in_first_row ? winner : Winner{};
}

// The first sample of those at its place.
SampleRun FirstOf(SampleRun run) {
  run.count = 1;
  run.last_place = run.first_place;
  return run;
}

template <typename T>
class Gradient {
 public:
  explicit Gradient(const AlignmentGradient& alignment)
      : alignment_(alignment),
        sizes_(alignment.tensors.image.layout.sizes),
        part_{0, alignment.rule.height, 0, alignment.rule.width} {}

  void OfImage(const TensorView& output) const {
    const int64_t groups = (sizes_[1] + kChannels - 1) / kChannels;
    ParallelFor(sizes_[0] * groups, 1, output.element_bytes(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % groups * kChannels;
        OfChannels(i / groups, first, std::min(first + kChannels, sizes_[1]), output);
      }
    });
  }

  void OfCorners(const TensorView& output) const {
    const Dims& strides = output.layout.strides;
    const int64_t step = strides[strides.size() - 2];
    ParallelFor(alignment_.tensors.count(), 1, output.element_bytes(),
                [&](int64_t begin, int64_t end) {
                  for (int64_t region = begin; region < end; ++region) {
                    T* const to = output.elements<T>() + region * step;
                    const Corners corners = CornersOf(region);
                    for (size_t k = 0; k < corners.size(); ++k) {
                      to[static_cast<int64_t>(k) * strides.back()] = RoundOnce<T>(corners[k]);
                    }
                  }
                });
  }

 private:
  using Sums = std::vector<double>;       // one for each pixel of a plane
  using Corners = std::array<double, 4>;  // x1, y1, x2, y2

  RegionSamples SamplesAt(int64_t region) const {
    const RegionTensors& tensors = alignment_.tensors;
    return SamplesOf(alignment_.rule, sizes_, tensors.regions, tensors.batches, region, part_);
  }

  double GradientAt(int64_t region, int64_t channel, size_t row, size_t column) const {
    const Dims& strides = alignment_.gradient.layout.strides;
    return AsDouble(alignment_.gradient.elements<T>()[region * strides[0] + channel * strides[1] +
                                                      static_cast<int64_t>(row) * strides[2] +
                                                      static_cast<int64_t>(column) * strides[3]]);
  }

  // Calls visit(rows, columns, gradient) for each output.
  template <typename Visit>
  void ForOutputs(const RegionSamples& samples, int64_t region, int64_t channel,
                  Visit&& visit) const {
    for (size_t i = 0; i < samples.rows.outputs.size(); ++i) {
      for (size_t j = 0; j < samples.columns.outputs.size(); ++j) {
        visit(samples.rows.outputs[i], samples.columns.outputs[j],
              GradientAt(region, channel, i, j));
      }
    }
  }

  static double MeanOf(const RegionSamples& samples, double gradient) {
    return gradient / (static_cast<double>(samples.rows.samples) *
                       static_cast<double>(samples.columns.samples));
  }

  Plane<T> PlaneAt(const RegionSamples& samples, int64_t channel) const {
    return PlaneOf<T>(alignment_.tensors.image, samples.batch, channel);
  }

  // --- gradient of the image ---------------------------------------------------------------------

  void OfChannels(int64_t batch, int64_t first, int64_t last, const TensorView& output) const {
    std::vector<Sums> planes(static_cast<size_t>(last - first),
                             Sums(static_cast<size_t>(sizes_[2] * sizes_[3])));
    for (int64_t region = 0; region < alignment_.tensors.count(); ++region) {
      if (BatchOf(alignment_.tensors.batches, region, sizes_[0]) != batch) continue;
      const RegionSamples samples = SamplesAt(region);
      for (int64_t channel = first; channel < last; ++channel) {
        Scatter(samples, region, channel, planes[static_cast<size_t>(channel - first)]);
      }
    }
    for (int64_t channel = first; channel < last; ++channel) {
      Write(planes[static_cast<size_t>(channel - first)],
            output.Slice(0, batch, 1).Slice(1, channel, 1));
    }
  }

  void Scatter(const RegionSamples& samples, int64_t region, int64_t channel, Sums& sums) const {
    ForOutputs(samples, region, channel,
               [&](const OutputSamples& rows, const OutputSamples& columns, double gradient) {
                 if (!alignment_.is_max) {
                   return AddSpans(rows.span, columns.span, MeanOf(samples, gradient), sums);
                 }
                 const Winner winner = WinnerOf(PlaneAt(samples, channel), samples, rows, columns);
                 if (winner.y == nullptr) return;
                 AddSpans(SpanOfOne(*winner.y), SpanOfOne(*winner.x), gradient, sums);
               });
  }

  static PixelSpan SpanOfOne(const SampleRun& run) { return SpanOf({FirstOf(run)}); }

  void AddSpans(const PixelSpan& rows, const PixelSpan& columns, double gradient,
                Sums& sums) const {
    for (size_t y = 0; y < rows.weights.size(); ++y) {
      if (rows.weights[y] == 0) continue;
      const double factor = gradient * rows.weights[y];
      const int64_t row = rows.first + static_cast<int64_t>(y);
      double* const to = sums.data() + row * sizes_[3] + columns.first;
      for (size_t x = 0; x < columns.weights.size(); ++x) {
        if (columns.weights[x] != 0) to[x] += factor * columns.weights[x];
      }
    }
  }

  void Write(const Sums& sums, const TensorView& plane) const {
    const double* next = sums.data();
    for (int64_t y = 0; y < sizes_[2]; ++y) {
      T* const row = plane.elements<T>() + y * plane.layout.strides[2];
      for (int64_t x = 0; x < sizes_[3]; ++x) {
        row[x * plane.layout.strides[3]] = RoundOnce<T>(*next++);
      }
    }
  }

  // --- gradient of the corners -------------------------------------------------------------------

  Corners CornersOf(int64_t region) const {
    Corners corners{};
    const RegionSamples samples = SamplesAt(region);
    for (int64_t channel = 0; channel < sizes_[1]; ++channel) {
      const Plane<T> plane = PlaneAt(samples, channel);
      ForOutputs(samples, region, channel,
                 [&](const OutputSamples& rows, const OutputSamples& columns, double gradient) {
                   if (!alignment_.is_max) {
                     return AddAll(plane, rows, columns, MeanOf(samples, gradient), corners);
                   }
                   const Winner winner = WinnerOf(plane, samples, rows, columns);
                   if (winner.y == nullptr) return;
                   AddSlopes(plane, FirstOf(*winner.y), FirstOf(*winner.x), gradient, corners);
                 });
    }
    return corners;
  }

  void AddAll(const Plane<T>& plane, const OutputSamples& rows, const OutputSamples& columns,
              double gradient, Corners& corners) const {
    for (const SampleRun& y : rows.runs) {
      for (const SampleRun& x : columns.runs) AddSlopes(plane, y, x, gradient, corners);
    }
  }

  // Adds the slopes, which are differences of pixels. On a pixel there is none.
  void AddSlopes(const Plane<T>& plane, const SampleRun& y, const SampleRun& x, double gradient,
                 Corners& corners) const {
    const double factor = gradient * (y.count * x.count);
    if (x.fraction > 0) {
      const double slope = Between(plane.At(y.low, x.high) - plane.At(y.low, x.low),
                                   plane.At(y.high, x.high) - plane.At(y.high, x.low), y.fraction);
      AddSlope(factor * slope * alignment_.rule.x.scale, x, corners[0], corners[2]);
    }
    if (y.fraction > 0) {
      const double slope = Between(plane.At(y.high, x.low) - plane.At(y.low, x.low),
                                   plane.At(y.high, x.high) - plane.At(y.low, x.high), x.fraction);
      AddSlope(factor * slope * alignment_.rule.y.scale, y, corners[1], corners[3]);
    }
  }

  static void AddSlope(double slope, const SampleRun& run, double& first, double& last) {
    const double place = (run.first_place + run.last_place) / 2;
    first += slope * (1 - place);
    last += slope * place;
  }

  const AlignmentGradient& alignment_;
  const Dims& sizes_;
  OutputPart part_;
};

}  // namespace

std::optional<WinningSample> WinnerOf(const RegionTensors& tensors, int64_t channel,
                                      const RegionSamples& samples, size_t row, size_t column) {
  std::optional<WinningSample> place;
  VisitDataType(Floats(), tensors.image.type, [&]<typename T>() {
    const Plane<T> plane = PlaneOf<T>(tensors.image, samples.batch, channel);
    const Winner winner =
        WinnerOf(plane, samples, samples.rows.outputs[row], samples.columns.outputs[column]);
    if (winner.y != nullptr) place = {FirstOf(*winner.y), FirstOf(*winner.x)};
  });
  return place;
}

void GradientOfImage(const AlignmentGradient& alignment, const TensorView& output) {
  VisitDataType(Floats(), output.type,
                [&]<typename T>() { Gradient<T>(alignment).OfImage(output); });
}

void GradientOfCorners(const AlignmentGradient& alignment, const TensorView& output) {
  VisitDataType(Floats(), output.type,
                [&]<typename T>() { Gradient<T>(alignment).OfCorners(output); });
}

}  // namespace dmlop
