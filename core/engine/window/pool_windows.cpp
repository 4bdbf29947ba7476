// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/pool_windows.h"

#include <optional>

#include "core/engine/reduce/reduce_run.h"

namespace dmlop {
namespace {

bool HasSameTaps(const PoolSegment& a, const PoolSegment& b) {
  return a.taps.begin == b.taps.begin && a.taps.end == b.taps.end && a.counted == b.counted;
}

}  // namespace

std::vector<PoolSegment> SegmentsOf(const WindowAxis& dim, int64_t begin, int64_t count) {
  std::vector<PoolSegment> segments;
  for (int64_t output = begin; output < begin + count; ++output) {
    const PoolSegment next = {output, 1, dim.PresentTaps(output), dim.CountedTaps(output)};
    if (segments.empty() || !HasSameTaps(segments.back(), next)) {
      segments.push_back(next);
    } else {
      ++segments.back().count;
    }
  }
  return segments;
}

bool HasTaps(const PoolBox& box) {
  return std::all_of(box.begin(), box.end(),
                     [](const PoolSegment& segment) { return segment.taps.count() > 0; });
}

int64_t PresentTaps(const PoolBox& box) {
  int64_t taps = 1;
  for (const PoolSegment& segment : box) taps *= segment.taps.count();
  return taps;
}

Int128 CountedTaps(const PoolBox& box) {
  Int128 taps = 1;
  for (const PoolSegment& segment : box) taps *= segment.counted;
  return taps;
}

TapCounts::TapCounts(const PoolDims& dims, const Dims& begin, const Dims& sizes)
    : present_(dims.size()), counted_(dims.size()) {
  for (size_t d = 0; d < dims.size(); ++d) {
    for (int64_t output = begin[d]; output < begin[d] + sizes[d]; ++output) {
      present_[d].push_back(dims[d].PresentTaps(output).count());
      counted_[d].push_back(dims[d].CountedTaps(output));
    }
  }
}

PoolBoxes::PoolBoxes(const PoolDims& dims, const Dims& begin, const Dims& sizes) {
  for (size_t d = 0; d < dims.size(); ++d) {
    segments_.push_back(SegmentsOf(dims[d], begin[d], sizes[d]));
    counts_.push_back(static_cast<int64_t>(segments_.back().size()));
  }
}

PoolBox PoolBoxes::At(int64_t i) const {
  const Dims numbers = IndexOf(counts_, i);
  PoolBox box;
  for (size_t d = 0; d < numbers.size(); ++d) {
    box.push_back(segments_[d][static_cast<size_t>(numbers[d])]);
  }
  return box;
}

TensorView PartOf(const TensorView& outputs, const Dims& begin, const PoolBox& box) {
  TensorView part = outputs;
  for (size_t d = 0; d < box.size(); ++d) {
    part = part.Slice(d, box[d].begin - begin[d], box[d].count);
  }
  return part;
}

PoolWindows WindowsOf(const PoolDims& dims, const PoolBox& box, const Layout& input) {
  PoolWindows windows{0, {}};
  Dims tap_sizes, tap_strides;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t step = input.strides[d];
    windows.first += dims[d].Position(box[d].begin, box[d].taps.begin) * step;
    // A step that is never taken may exceed the range of offsets.
    windows.layout.sizes.push_back(box[d].count);
    windows.layout.strides.push_back(box[d].count == 1 ? 0 : dims[d].stride * step);
    if (d < kFirstSpatial) continue;
    const int64_t taps = box[d].taps.count();
    tap_sizes.push_back(taps);
    tap_strides.push_back(taps == 1 ? 0 : dims[d].dilation * step);
  }
  for (size_t i = 0; i < tap_sizes.size(); ++i) {
    windows.layout.sizes.push_back(tap_sizes[i]);
    windows.layout.strides.push_back(tap_strides[i]);
  }
  return windows;
}

TapLoops TapsOf(const PoolWindows& windows, size_t rank) {
  TapLoops taps;
  const size_t spatial_rank = windows.layout.rank() - rank;
  for (size_t i = 0; i < spatial_rank; ++i) {
    const size_t loop = taps.sizes.size() - spatial_rank + i;
    taps.sizes[loop] = windows.layout.sizes[rank + i];
    taps.steps[loop] = windows.layout.strides[rank + i];
  }
  return taps;
}

std::vector<int64_t> OffsetsOf(const TapLoops& taps) {
  std::vector<int64_t> offsets;
  ForEachTap(taps, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

size_t PoolRowDimension(const Dims& sizes, const Dims& steps) {
  constexpr int64_t kMany = 8;
  std::optional<size_t> nearest;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < kMany || steps[d] == 0) continue;
    if (!nearest || steps[d] <= steps[*nearest]) nearest = d;
  }
  if (nearest) return *nearest;
  return static_cast<size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
}

PoolRows RowsOf(const PoolWindows& windows, const Layout& outputs) {
  LoopNest<PoolRows::kOperands> loops;
  for (size_t d = 0; d < outputs.rank(); ++d) {
    loops.Push(outputs.sizes[d], {windows.layout.strides[d], outputs.strides[d]});
  }
  const size_t row = PoolRowDimension(loops.sizes, loops.strides[PoolRows::kWindow]);
  return {Merged(Without(loops, row)), loops.Step(row), loops.sizes[row]};
}

int64_t SharesOf(int64_t boxes, int64_t taps, int64_t most_rows) {
  constexpr int64_t kMostShares = 1 << 20;
  const int64_t grain = kGrainTaps + boxes * (kGrainTaps / 4);  // each share looks at each box
  const int64_t shares = taps / grain + 1;
  return std::min({shares, most_rows, kMostShares});
}

bool IsReduction(const PoolBox& box) {
  constexpr int64_t kFewTaps = 16;
  if (PresentTaps(box) < kFewTaps) return false;
  const bool is_one = std::all_of(box.begin() + kFirstSpatial, box.end(),
                                  [](const PoolSegment& segment) { return segment.count == 1; });
  return is_one || PresentTaps(box) > kMaxPoolTaps;
}

void ReduceWindows(ReduceFunction function, const PoolDims& dims, const PoolBox& box,
                   const ConstTensorView& input, const TensorView& outputs) {
  const PoolWindows places = WindowsOf(dims, box, input.layout);
  const int64_t first_byte = places.first * static_cast<int64_t>(ByteWidth(input.type));
  const ConstTensorView windows{input.data + first_byte, input.type, places.layout};
  std::vector<uint32_t> axes;
  TensorView reduced = outputs;
  for (size_t d = dims.size(); d < windows.layout.rank(); ++d) {
    axes.push_back(static_cast<uint32_t>(d));
    reduced.layout.sizes.push_back(1);
    reduced.layout.strides.push_back(0);
  }
  Reduce({function, axes}, windows, reduced);
}

}  // namespace dmlop
