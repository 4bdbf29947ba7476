// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/integer_windows.h"

#include <algorithm>
#include <utility>

#include "core/base/integers.h"
#include "core/kernels/matrix/integer_tile.h"

namespace dmlop {

IntegerWindowLines::IntegerWindowLines(const ConstTensorView& input, std::vector<WindowAxis> axes,
                                       int64_t zero_point, const Dims& begin, const Dims& sizes)
    : input_(input), axes_(std::move(axes)), zero_point_(zero_point), begin_(begin), sizes_(sizes) {
  for (const WindowAxis& axis : axes_) windows_.push_back(axis.window);
}

std::vector<IntegerWindowLines::Segment> IntegerWindowLines::SegmentsOf(Range lines) const {
  std::vector<Segment> segments;
  for (int64_t line = lines.begin; line < lines.end;) {
    Dims place = IndexOf(sizes_, line);
    const int64_t count = std::min(sizes_.back() - place.back(), lines.end - line);
    for (size_t d = 0; d < place.size(); ++d) place[d] += begin_[d];
    segments.push_back({count, place});
    line += count;
  }
  return segments;
}

void IntegerWindowLines::Pack(int64_t /*batch*/, Range lines, Range numbers, int64_t width,
                              std::optional<int16_t> base, int16_t* panel) const {
  const int16_t less = base.value_or(static_cast<int16_t>(zero_point_));
  const std::vector<Segment> segments = SegmentsOf(lines);
  std::vector<int16_t> rows(static_cast<size_t>(2 * width));
  for (int64_t k = numbers.begin; k < numbers.end; k += 2) {
    FillRow(segments, k, less, rows.data());
    if (k + 1 < numbers.end) {
      FillRow(segments, k + 1, less, rows.data() + width);
    } else {
      std::fill_n(rows.data() + width, width, int16_t{0});
    }
    PackPair(rows.data(), rows.data() + width, width, panel + (k - numbers.begin) * width);
  }
}

void IntegerWindowLines::FillRow(const std::vector<Segment>& segments, int64_t number, int16_t base,
                                 int16_t* row) const {
  const int64_t taps = Product(windows_);
  const int64_t channel = number / taps;
  const Dims tap = IndexOf(windows_, number % taps);
  for (const Segment& segment : segments) {
    if (input_.type == DataType::kInt8) {
      FillSegment<int8_t>(segment, channel, tap, base, row);
    } else {
      FillSegment<uint8_t>(segment, channel, tap, base, row);
    }
    row += segment.count;
  }
}

template <typename T>
void IntegerWindowLines::FillSegment(const Segment& segment, int64_t channel, const Dims& taps,
                                     int16_t base, int16_t* row) const {
  const Dims& sizes = input_.layout.sizes;
  const Dims& strides = input_.layout.strides;
  std::fill_n(row, segment.count, static_cast<int16_t>(zero_point_ - base));
  int64_t offset = segment.place[0] * strides[0] + channel * strides[1];
  const auto position = [&](size_t d) { return axes_[d].Position(segment.place[d + 1], taps[d]); };
  const size_t last = axes_.size() - 1;
  for (size_t d = 0; d < last; ++d) {
    const int64_t q = position(d);
    if (q < 0 || q >= sizes[d + 2]) return;
    offset += q * strides[d + 2];
  }
  // Only positions first + i * stride that lie in the input are read.
  const int64_t first = position(last);
  const int64_t stride = axes_[last].stride;
  const int64_t begin = first >= 0 ? 0 : CeilDiv(-first, stride);
  const int64_t end = std::min(segment.count, CeilDiv(sizes[last + 2] - first, stride));
  if (begin >= end) return;
  const int64_t step = stride * strides[last + 2];
  const T* const from =
      input_.elements<T>() + offset + (first + begin * stride) * strides[last + 2];
  if (step == 1) {
    const ByteLines bytes{reinterpret_cast<const std::byte*>(from), input_.type == DataType::kInt8,
                          1, 1};
    return WidenBytes(bytes, end - begin, base, row + begin);
  }
  for (int64_t i = begin; i < end; ++i) {
    row[i] = static_cast<int16_t>(from[(i - begin) * step] - base);
  }
}

}  // namespace dmlop
