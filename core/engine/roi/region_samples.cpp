// SPDX-License-Identifier: Apache-2.0
#include "core/engine/roi/region_samples.h"

#include <algorithm>

#include "core/kernels/index/index_value.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

uint64_t SamplesFor(const SampleRule& rule, double length, int64_t outputs) {
  if (!std::isfinite(length)) return rule.min_samples;
  const double wanted = std::ceil(std::fabs(length) / static_cast<double>(outputs));
  return static_cast<uint64_t>(std::clamp(wanted, static_cast<double>(rule.min_samples),
                                          static_cast<double>(rule.max_samples)));
}

}  // namespace

SampleAxis::SampleAxis(const SampleRule& rule, double first_corner, double last_corner,
                       int64_t outputs, int64_t pixels)
    : rule_(rule),
      start_(first_corner * rule.scale),
      length_(last_corner * rule.scale - start_),
      last_pixel_(static_cast<double>(pixels - 1)),
      samples_(SamplesFor(rule, length_, outputs)),
      all_(static_cast<uint64_t>(outputs) * samples_),
      intervals_(static_cast<double>(rule.to_corners ? all_ - 1 : all_)) {
  FindBounds();
}

double SampleAxis::CoordinateOf(uint64_t sample) const {
  if (intervals_ == 0) return length_ / 2 + start_ - rule_.input_offset;
  const double position = static_cast<double>(sample) - rule_.output_offset;
  return position * length_ / intervals_ + start_ - rule_.input_offset;
}

double SampleAxis::PlaceOf(uint64_t sample) const {
  if (intervals_ == 0) return 0.5;
  return (static_cast<double>(sample) - rule_.output_offset) / intervals_;
}

// The first sample of [begin, end) for which the predicate holds, if it holds for all later ones,
// too; `end` if there is none.
template <typename Predicate>
uint64_t SampleAxis::FirstOf(uint64_t begin, uint64_t end, Predicate&& holds) const {
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (holds(CoordinateOf(middle))) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

// Coordinates increase or decrease monotonically; all of them are NaN, or none is.
void SampleAxis::FindBounds() {
  if (!std::isfinite(length_) || std::isnan(CoordinateOf(0))) return;
  const double least = -1;
  const double most = last_pixel_ + 1;
  if (length_ < 0) {
    begin_ = FirstOf(0, all_, [&](double x) { return x <= most; });
    end_ = FirstOf(begin_, all_, [&](double x) { return x < least; });
  } else {
    begin_ = FirstOf(0, all_, [&](double x) { return x >= least; });
    end_ = FirstOf(begin_, all_, [&](double x) { return x > most; });
  }
}

SampleAxis::Inside SampleAxis::InsideOf(int64_t output) const {
  const uint64_t first = static_cast<uint64_t>(output) * samples_;
  const uint64_t begin = std::clamp(begin_, first, first + samples_);
  const uint64_t end = std::clamp(end_, first, first + samples_);
  return {begin - first, end - begin};
}

SampleRun SampleAxis::RunAt(double coordinate) const {
  const double x = std::clamp(coordinate, 0.0, last_pixel_);
  SampleRun run{};
  if (!rule_.is_linear) {
    run.low = static_cast<int64_t>(std::ceil(x - 0.5));
    run.high = run.low;
    return run;
  }
  run.low = static_cast<int64_t>(std::floor(x));
  run.fraction = x - std::floor(x);
  run.high = run.fraction > 0 ? run.low + 1 : run.low;
  return run;
}

bool SampleAxis::Reaches(int64_t pixel) const {
  if (begin_ == end_) return false;
  const SampleRun first = RunAt(CoordinateOf(begin_)), last = RunAt(CoordinateOf(end_ - 1));
  return std::min(first.low, last.low) <= pixel && pixel <= std::max(first.high, last.high);
}

std::vector<SampleRun> SampleAxis::RunsOf(int64_t output) const {
  const Inside inside = InsideOf(output);
  const uint64_t begin = static_cast<uint64_t>(output) * samples_ + inside.before;
  const uint64_t end = begin + inside.count;
  std::vector<SampleRun> runs;
  for (uint64_t sample = begin; sample < end;) {
    const double x = CoordinateOf(sample);
    uint64_t next = sample + 1;
    if (next < end && CoordinateOf(next) == x) {
      next = FirstOf(next, end, [&](double other) { return other != x; });
    }
    SampleRun& run = runs.emplace_back(RunAt(x));
    run.count = static_cast<double>(next - sample);
    run.first_place = PlaceOf(sample);
    run.last_place = PlaceOf(next - 1);
    sample = next;
  }
  return runs;
}

PixelSpan SpanOf(const std::vector<SampleRun>& runs) {
  PixelSpan span;
  if (runs.empty()) return span;
  span.first = std::min(runs.front().low, runs.back().low);
  const int64_t last = std::max(runs.front().high, runs.back().high);
  span.weights.resize(static_cast<size_t>(last - span.first + 1));
  for (const SampleRun& run : runs) {
    span.weights[static_cast<size_t>(run.low - span.first)] += run.count * (1 - run.fraction);
    if (run.fraction > 0) {
      span.weights[static_cast<size_t>(run.high - span.first)] += run.count * run.fraction;
    }
  }
  return span;
}

namespace {

AxisSamples AlongAxis(const SampleAxis& axis, int64_t first, int64_t count) {
  AxisSamples along{axis.samples(), {}};
  for (int64_t output = first; output < first + count; ++output) {
    OutputSamples& one =
        along.outputs.emplace_back(OutputSamples{axis.InsideOf(output), axis.RunsOf(output), {}});
    one.span = SpanOf(one.runs);
  }
  return along;
}

double CornerOf(const ConstTensorView& regions, int64_t region, int64_t k) {
  const Dims& strides = regions.layout.strides;
  double corner = 0;
  VisitDataType(Floats(), regions.type, [&]<typename T>() {
    const int64_t row = region * strides[strides.size() - 2];
    corner = AsDouble(regions.elements<T>()[row + k * strides.back()]);
  });
  return corner;
}

SampleAxis RowsOf(const RegionRule& rule, const Dims& sizes, const ConstTensorView& regions,
                  int64_t region) {
  return {rule.y, CornerOf(regions, region, 1), CornerOf(regions, region, 3), rule.height,
          sizes[2]};
}
SampleAxis ColumnsOf(const RegionRule& rule, const Dims& sizes, const ConstTensorView& regions,
                     int64_t region) {
  return {rule.x, CornerOf(regions, region, 0), CornerOf(regions, region, 2), rule.width, sizes[3]};
}

}  // namespace

int64_t BatchOf(const ConstTensorView& batches, int64_t region, int64_t count) {
  int64_t batch = 0;
  VisitDataType(TypeList<uint64_t, uint32_t>(), batches.type, [&]<typename Index>() {
    const Index index = batches.elements<Index>()[region * batches.layout.strides.back()];
    batch = ResolveIndex(index, count).place;
  });
  return batch;
}

bool MayReach(const RegionRule& rule, const Dims& sizes, const ConstTensorView& regions,
              int64_t region, const Dims& pixel) {
  return RowsOf(rule, sizes, regions, region).Reaches(pixel[2]) &&
         ColumnsOf(rule, sizes, regions, region).Reaches(pixel[3]);
}

RegionSamples SamplesOf(const RegionRule& rule, const Dims& sizes, const ConstTensorView& regions,
                        const ConstTensorView& batches, int64_t region, const OutputPart& part) {
  const SampleAxis y = RowsOf(rule, sizes, regions, region);
  const SampleAxis x = ColumnsOf(rule, sizes, regions, region);
  return {BatchOf(batches, region, sizes[0]), AlongAxis(y, part.first_row, part.rows),
          AlongAxis(x, part.first_column, part.columns)};
}

}  // namespace dmlop
