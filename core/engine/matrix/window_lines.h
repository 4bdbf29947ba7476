// SPDX-License-Identifier: Apache-2.0
// Windows of a tensor (N, C, S...) as columns of a matrix product, without a copy of all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/matrix/matrix_lines.h"
#include "core/engine/window/window_axis.h"
#include "core/kernels/matrix/pack.h"
#include "core/kernels/matrix/product.h"

namespace dmlop {

// A spatial dimension: tap t of the window at position p reads element first + p * position_step +
// t * tap_step. It reads nothing if that lies outside, or if p >= limit.
struct LineAxis {
  int64_t size;  // size of the tensor
  int64_t positions;
  int64_t taps;  // at least 1
  int64_t first;
  int64_t position_step;  // at least 1
  int64_t tap_step;
  int64_t limit;

  int64_t ElementAt(int64_t position, int64_t tap) const {
    return first + position * position_step + tap * tap_step;
  }
  bool Has(int64_t position, int64_t tap) const {
    const int64_t element = ElementAt(position, tap);
    return position < limit && element >= 0 && element < size;
  }
  // The positions at which every tap reads an element.
  Range Inside() const;

  // Positions of a part of the output, for windows of an axis at its first `windows` positions.
  static LineAxis Of(const WindowAxis& axis, int64_t begin, int64_t positions, int64_t windows) {
    return {axis.size,   positions,     axis.window,    begin * axis.stride - axis.start,
            axis.stride, axis.dilation, windows - begin};
  }
};

// Line (n, positions...) has the elements (taps..., c), with c varying fastest, or (c, taps...).
class WindowLines final : public MatrixLines {
 public:
  enum class Order { kTapsFirst, kChannelsFirst };

  // `input` has an axis for each dimension but N and C. What lies outside is packed as `padding`,
  // which is 0 for floats.
  WindowLines(const ConstTensorView& input, std::vector<LineAxis> axes,
              Order order = Order::kTapsFirst, int64_t padding = 0);

  void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const override;
  void PackPairs(IndexRange lines, IndexRange elements, const int16_t* less, int64_t width,
                 int16_t* panel) const override;
  uint32_t WithAbsent(IndexRange lines) const override;
  void Extract(int64_t line, double* to) const override;
  const WindowLines* AsWindows() const override { return this; }

  int64_t taps() const { return Product(taps_); }

 private:
  friend class WindowRows;
  struct Run;

  // Places of the last dimension that are position_step apart, from `element` on. Those from
  // `limit` on have no elements.
  struct Places {
    std::optional<int64_t> offset;  // of the other dimensions; null if there are no elements
    int64_t element, limit, count;

    friend bool operator==(const Places&, const Places&) = default;
  };

  // The lines of a run that have all elements.
  Range InsideOf(const Run& run) const;
  template <class Body>
  void ForEachRun(IndexRange lines, Body&& body) const;
  // The offset of a tap of a window, but for the channel and the last dimension; null if the tap
  // reads nothing.
  std::optional<int64_t> OuterOffset(const Dims& window, const Dims& tap) const;
  std::optional<int64_t> InChannel(std::optional<int64_t> outer, int64_t channel) const;
  Range PresentPlaces(const Places& places) const;
  // Each channel has a row of so many numbers.
  template <typename Number>
  void PackPlaces(const Places& places, int64_t channels, int64_t row, Number* to) const;
  // `outer` is that of the tap in the other dimensions.
  template <typename Number>
  void PackTap(const Run& run, std::optional<int64_t> outer, int64_t tap, IndexRange channels,
               int64_t row, Number* to) const;
  template <typename Number>
  void PackRun(const Run& run, IndexRange elements, int64_t width, Number* to) const;
  template <typename Number>
  void PackLines(IndexRange lines, IndexRange elements, int64_t width, Number* to) const;

  PackTapFunction* pack_tap_;
  ConstTensorView input_;
  int16_t padding_;
  int64_t element_bytes_;
  std::vector<LineAxis> axes_;
  std::vector<Range> inside_;  // one for each axis
  Dims windows_;               // n, positions...
  Dims taps_;
  int64_t tap_step_, channel_step_;  // between numbers of elements
};

// The elements of neighbouring windows along the last dimension, widened once for all taps of that
// dimension that read them.
class WindowRows {
 public:
  // Serves runs of up to `most_lines` lines and `most_channels` channels.
  WindowRows(const WindowLines& windows, int64_t most_lines, int64_t most_channels);

  // Neighbouring lines, the first of which is number `lane` of a range: rows[k][i] is element k of
  // line i, and 0 if it is absent. The elements are (channels, taps...). The rows can be read up to
  // kMaxPanelWidth lines further.
  struct Run {
    int64_t lane, count;
    int64_t limit;  // lines from this one on have no elements, and rows none for them
    Range inside;   // lines that have all elements
    const double* const* rows;
  };
  void ForEachRun(IndexRange lines, IndexRange channels,
                  const std::function<void(const Run&)>& body);

 private:
  // Elements as far apart as windows are. The first one is that of some tap of the first window;
  // behind those of this tap there are some more, of other taps.
  struct Row {
    int64_t first, more;
  };
  // The place in a row at which the elements of a tap lie.
  struct Tap {
    size_t row;
    int64_t place;
  };

  Tap PlaceOf(int64_t tap);
  void PackRun(const WindowLines::Run& run, int64_t count, IndexRange channels);
  size_t SlotOf(const Dims& window, size_t outer_tap) const;
  const double* Packed(size_t slot, const WindowLines::Places& places, int64_t channels);

  const WindowLines& windows_;
  std::vector<Row> rows_;
  std::vector<Tap> taps_;                    // of the last dimension
  std::vector<Dims> outer_;                  // the taps of the others
  std::vector<WindowLines::Places> packed_;  // as many rows as a run has
  int64_t length_ = kMaxPanelWidth;          // most numbers of a row in a channel
  int64_t most_channels_;
  std::vector<double> numbers_;
  std::vector<const double*> of_first_;  // those of the first channel
  std::vector<const double*> of_all_;
};

}  // namespace dmlop
