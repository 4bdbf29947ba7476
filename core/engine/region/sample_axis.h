// Where the samples of a region lie along one axis of an image.
#pragma once

#include <cstdint>
#include <vector>

namespace dmlop {

// How samples are laid out, along one axis of all regions.
struct SampleRule {
  bool is_linear;  // or the nearest pixel, halves down
  double scale;
  double input_offset, output_offset;
  uint32_t min_samples, max_samples;  // for one output, at least 1
  bool to_corners;                    // the first and the last sample lie on the corners
};

// Samples that lie at one place.
struct SampleRun {
  int64_t low, high;  // pixels around it; the same where it lies on one
  double fraction;    // what `high` weighs
  double count;       // at least 1
  // Of the first and the last of them in the region: 0 is its first corner, 1 its last.
  double first_place, last_place;
};

// What pixels side by side weigh, all samples of an output together. May have zeros in between.
struct PixelSpan {
  int64_t first = 0;
  std::vector<double> weights;
};

// A region has `outputs` outputs along the axis, of so many samples each, some of which may be out
// of the bounds [-1, pixels] of the image. Every operation is one of FLOAT64, in the order of the
// reference page.
class SampleAxis {
 public:
  SampleAxis(const SampleRule& rule, double first_corner, double last_corner, int64_t outputs,
             int64_t pixels);

  // Of an output.
  uint64_t samples() const { return samples_; }

  // Samples of an output in the bounds, which are neighbours: of how many the first of its samples
  // are outside before they begin, and how many there are.
  struct Inside {
    uint64_t before, count;
  };
  Inside InsideOf(int64_t output) const;

  // Those samples in their order. As long as they do not lie at one place, each costs some time.
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
  uint64_t all_;        // of all outputs
  double intervals_;    // between the first corner and the last
  uint64_t begin_ = 0;  // in the bounds
  uint64_t end_ = 0;
};

// The runs of an output as weights of pixels.
PixelSpan SpanOf(const std::vector<SampleRun>& runs);

}  // namespace dmlop
