// SPDX-License-Identifier: Apache-2.0
#include "core/engine/matrix/window_lines.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "core/kernels/matrix/integer_tile.h"

namespace dmlop {
namespace {

int64_t LineCount(const ConstTensorView& input, const std::vector<LineAxis>& axes) {
  int64_t count = input.layout.sizes[0];
  for (const LineAxis& axis : axes) count *= axis.positions;
  return count;
}

int64_t LineLength(const ConstTensorView& input, const std::vector<LineAxis>& axes) {
  int64_t length = input.layout.sizes[1];
  for (const LineAxis& axis : axes) length *= axis.taps;
  return length;
}

// A mask of the lowest `count` bits, fewer than 32.
uint32_t Bits(int64_t count) {
  return (uint32_t{1} << count) - 1;
}

}  // namespace

Range LineAxis::Inside() const {
  const int64_t reach = (taps - 1) * tap_step;
  const int64_t least = first + std::min<int64_t>(reach, 0);
  const int64_t most = first + std::max<int64_t>(reach, 0);
  const int64_t begin = least < 0 ? CeilDiv(-least, position_step) : 0;
  const int64_t end = most < size ? CeilDiv(size - most, position_step) : 0;
  return {begin, std::max(begin, std::min(end, limit))};
}

// Neighbouring lines along the last dimension.
struct WindowLines::Run {
  Dims window;  // of the first line
  int64_t lane;
  int64_t count;
};

WindowLines::WindowLines(const ConstTensorView& input, std::vector<LineAxis> axes, Order order,
                         int64_t padding)
    : MatrixLines(input.type, LineCount(input, axes), LineLength(input, axes)),
      pack_tap_(PackTapFunctionFor(input.type)),
      input_(input),
      padding_(static_cast<int16_t>(padding)),
      element_bytes_(static_cast<int64_t>(ByteWidth(input.type))),
      axes_(std::move(axes)) {
  windows_.push_back(input.layout.sizes[0]);
  for (const LineAxis& axis : axes_) {
    windows_.push_back(axis.positions);
    taps_.push_back(axis.taps);
    inside_.push_back(axis.Inside());
  }
  const bool has_taps_first = order == Order::kTapsFirst;
  tap_step_ = has_taps_first ? input.layout.sizes[1] : 1;
  channel_step_ = has_taps_first ? 1 : taps();
}

template <class Body>
void WindowLines::ForEachRun(IndexRange lines, Body&& body) const {
  Dims window = IndexOf(windows_, lines.begin);
  for (int64_t lane = 0; lane < lines.count;) {
    const int64_t count = std::min(lines.count - lane, windows_.back() - window.back());
    body(Run{window, lane, count});
    lane += count;
    window.back() += count - 1;
    Advance(windows_, window);
  }
}

std::optional<int64_t> WindowLines::OuterOffset(const Dims& window, const Dims& tap) const {
  const Dims& strides = input_.layout.strides;
  int64_t offset = window[0] * strides[0];
  for (size_t d = 0; d + 1 < axes_.size(); ++d) {
    if (!axes_[d].Has(window[d + 1], tap[d])) return std::nullopt;
    offset += axes_[d].ElementAt(window[d + 1], tap[d]) * strides[d + 2];
  }
  return offset;
}

std::optional<int64_t> WindowLines::InChannel(std::optional<int64_t> outer, int64_t channel) const {
  return outer ? std::optional(*outer + channel * input_.layout.strides[1]) : std::nullopt;
}

Range WindowLines::PresentPlaces(const Places& places) const {
  const LineAxis& axis = axes_.back();
  if (!places.offset) return {0, 0};
  const int64_t most = std::min(places.limit, places.count);
  const int64_t last = places.element + (most - 1) * axis.position_step;
  if (places.element >= 0 && last < axis.size) return {0, std::max<int64_t>(most, 0)};
  const int64_t end =
      std::max<int64_t>(std::min(most, CeilDiv(axis.size - places.element, axis.position_step)), 0);
  const int64_t begin = CeilDiv(std::max<int64_t>(-places.element, 0), axis.position_step);
  return {std::min(begin, end), end};
}

template <typename Number>
void WindowLines::PackPlaces(const Places& places, int64_t channels, int64_t row,
                             Number* to) const {
  const int64_t step = axes_.back().position_step;
  const int64_t stride = input_.layout.strides.back();
  const auto [begin, end] = PresentPlaces(places);
  const std::byte* data = input_.data;
  if (begin < end) {
    const int64_t offset = *places.offset + (places.element + begin * step) * stride;
    data += offset * element_bytes_;
  }
  pack_tap_({data, channels, input_.layout.strides[1], begin, end - begin, places.count - end,
             stride * step, row, padding_, to});
}

template <typename Number>
void WindowLines::PackTap(const Run& run, std::optional<int64_t> outer, int64_t tap,
                          IndexRange channels, int64_t row, Number* to) const {
  const LineAxis& axis = axes_.back();
  const int64_t position = run.window.back();
  const int64_t limit = std::min(run.count, axis.limit - position);
  PackPlaces({InChannel(outer, channels.begin), axis.ElementAt(position, tap), limit, run.count},
             channels.count, row, to + run.lane);
}

// Goes through the taps of the elements, each in all channels that come before the next tap or, if
// channels come first, in all of them.
template <typename Number>
void WindowLines::PackRun(const Run& run, IndexRange elements, int64_t width, Number* to) const {
  const bool has_taps_first = channel_step_ == 1;
  const int64_t channels = input_.layout.sizes[1];
  const int64_t end = has_taps_first ? elements.count : std::min(elements.count, channel_step_);
  Dims tap =
      IndexOf(taps_, has_taps_first ? elements.begin / channels : elements.begin % channel_step_);
  std::optional<int64_t> outer = OuterOffset(run.window, tap);
  for (int64_t k = 0; k < end;) {
    const int64_t rest = elements.count - k;
    IndexRange part{(elements.begin + k) / channel_step_, CeilDiv(rest, channel_step_)};
    if (has_taps_first) {
      part.begin %= channels;
      part.count = std::min(channels - part.begin, rest);
    }
    PackTap(run, outer, tap.back(), part, channel_step_ * width, to + k * width);
    k += has_taps_first ? part.count : 1;
    Advance(taps_, tap);
    if (tap.back() == 0) outer = OuterOffset(run.window, tap);
  }
}

template <typename Number>
void WindowLines::PackLines(IndexRange lines, IndexRange elements, int64_t width,
                            Number* to) const {
  for (int64_t k = 0; k < elements.count && lines.count < width; ++k) {
    std::fill(to + k * width + lines.count, to + (k + 1) * width, Number{0});
  }
  ForEachRun(lines, [&](const Run& run) { PackRun(run, elements, width, to); });
}

void WindowLines::Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const {
  PackLines(lines, elements, width, to);
}

// Packs rows, which hold an element of each line, some at a time so that they stay in the
// first-level cache, and then pairs of them.
void WindowLines::PackPairs(IndexRange lines, IndexRange elements, const int16_t* less,
                            int64_t width, int16_t* panel) const {
  std::array<int16_t, 4096> rows;
  const int64_t step = std::ssize(rows) / width / 2 * 2;
  for (int64_t k = 0; k < elements.count; k += step) {
    const int64_t count = std::min(step, elements.count - k);
    PackLines(lines, {elements.begin + k, count}, width, rows.data());
    PackPairsOfRows(rows.data(), count, less, width, panel + k * width);
  }
}

Range WindowLines::InsideOf(const Run& run) const {
  for (size_t d = 0; d + 1 < axes_.size(); ++d) {
    if (!inside_[d].Contains(run.window[d + 1])) return {0, 0};
  }
  const int64_t position = run.window.back();
  return Intersection({inside_.back().begin - position, inside_.back().end - position},
                      {0, run.count});
}

uint32_t WindowLines::WithAbsent(IndexRange lines) const {
  uint32_t with_all = 0;
  ForEachRun(lines, [&](const Run& run) {
    const Range inside = InsideOf(run);
    if (inside.count() > 0) with_all |= (Bits(inside.end) - Bits(inside.begin)) << run.lane;
  });
  return Bits(lines.count) - with_all;
}

void WindowLines::Extract(int64_t line, double* to) const {
  const Dims window = IndexOf(windows_, line);
  const int64_t channels = input_.layout.sizes[1];
  const LineAxis& axis = axes_.back();
  for (int64_t i = 0; i < taps(); ++i, to += tap_step_) {
    const Dims tap = IndexOf(taps_, i);
    const std::optional<int64_t> outer = OuterOffset(window, tap);
    if (!outer || !axis.Has(window.back(), tap.back())) {
      for (int64_t c = 0; c < channels; ++c) to[c * channel_step_] = Absent();
      continue;
    }
    PackTap({window, 0, 1}, outer, tap.back(), {0, channels}, channel_step_, to);
  }
}

// --- rows ----------------------------------------------------------------------------------------

WindowRows::WindowRows(const WindowLines& windows, int64_t most_lines, int64_t most_channels)
    : windows_(windows), most_channels_(most_channels) {
  Dims outer = windows_.taps_;
  const int64_t taps = outer.back();
  outer.back() = 1;
  for (int64_t i = 0; i < Product(outer); ++i) outer_.push_back(IndexOf(outer, i));
  taps_.resize(static_cast<size_t>(taps));
  const bool ascend = windows_.axes_.back().tap_step > 0;
  for (int64_t i = 0; i < taps; ++i) {
    const int64_t tap = ascend ? i : taps - 1 - i;
    taps_[static_cast<size_t>(tap)] = PlaceOf(tap);
  }
  for (const Row& row : rows_) {
    length_ = std::max(length_, most_lines + row.more + kMaxPanelWidth);
  }
  packed_.resize(outer_.size() * rows_.size(), {std::nullopt, 0, 0, 0});
  numbers_.resize(packed_.size() * static_cast<size_t>(length_ * most_channels_));
}

// Finds a row that has nearly the elements of a tap, and makes it reach them. Taps come in the
// order of their elements.
WindowRows::Tap WindowRows::PlaceOf(int64_t tap) {
  constexpr int64_t kNear = 64;
  const LineAxis& axis = windows_.axes_.back();
  const int64_t element = tap * axis.tap_step;
  for (size_t r = 0; r < rows_.size(); ++r) {
    const int64_t distance = element - rows_[r].first;
    const int64_t place = distance / axis.position_step;
    if (distance % axis.position_step != 0 || place > rows_[r].more + kNear) continue;
    rows_[r].more = place;
    return {r, place};
  }
  rows_.push_back({element, 0});
  return {rows_.size() - 1, 0};
}

void WindowRows::ForEachRun(IndexRange lines, IndexRange channels,
                            const std::function<void(const Run&)>& body) {
  const int64_t end = windows_.axes_.back().limit;
  windows_.ForEachRun(lines, [&](const WindowLines::Run& run) {
    const int64_t limit = std::clamp<int64_t>(end - run.window.back(), 0, run.count);
    PackRun(run, limit, channels);
    body({run.lane, run.count, limit, windows_.InsideOf(run), of_all_.data()});
  });
}

void WindowRows::PackRun(const WindowLines::Run& run, int64_t count, IndexRange channels) {
  const int64_t first = windows_.axes_.back().ElementAt(run.window.back(), 0);
  of_first_.clear();
  for (size_t o = 0; o < outer_.size(); ++o) {
    const auto offset =
        windows_.InChannel(windows_.OuterOffset(run.window, outer_[o]), channels.begin);
    const size_t slot = SlotOf(run.window, o) * rows_.size();
    of_first_.resize((o + 1) * taps_.size());
    for (size_t r = 0; r < rows_.size(); ++r) {
      const int64_t length = count + rows_[r].more;
      const double* const row =
          Packed(slot + r, {offset, first + rows_[r].first, length, length}, channels.count);
      for (size_t t = 0; t < taps_.size(); ++t) {
        if (taps_[t].row == r) of_first_[o * taps_.size() + t] = row + taps_[t].place;
      }
    }
  }
  of_all_ = of_first_;
  for (int64_t c = 1; c < channels.count; ++c) {
    for (const double* row : of_first_) of_all_.push_back(row + c * length_);
  }
}

// Returns a different slot for each outer tap of a window. Where windows of the next run share rows
// with those of the last one, these have the same slots.
size_t WindowRows::SlotOf(const Dims& window, size_t outer_tap) const {
  if (windows_.axes_.size() == 1) return outer_tap;
  const size_t d = windows_.axes_.size() - 2;
  const LineAxis& axis = windows_.axes_[d];
  const int64_t element = axis.ElementAt(window[d + 1], outer_[outer_tap][d]);
  const int64_t step = FloorDiv(element, std::abs(axis.tap_step));
  const int64_t turn = step - FloorDiv(step, axis.taps) * axis.taps;
  const size_t taps = static_cast<size_t>(axis.taps);
  return outer_tap / taps * taps + static_cast<size_t>(turn);
}

const double* WindowRows::Packed(size_t slot, const WindowLines::Places& places, int64_t channels) {
  double* const numbers = numbers_.data() + static_cast<int64_t>(slot) * length_ * most_channels_;
  if (packed_[slot] == places) return numbers;
  packed_[slot] = places;
  windows_.PackPlaces(places, channels, length_, numbers);
  return numbers;
}

}  // namespace dmlop
