// SPDX-License-Identifier: Apache-2.0
// The places of a region's samples along one axis of an image.
#pragma once

#include <cstdint>
#include <vector>

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

  // The samples of an output within bounds, which are consecutive: how many precede them, and how
  // many there are.
  struct Inside {
    uint64_t before, count;
  };
  Inside InsideOf(int64_t output) const;

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

}  // namespace dmlop
