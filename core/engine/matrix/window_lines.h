// SPDX-License-Identifier: Apache-2.0
// Windows of a tensor (N, C, S...) as columns of a matrix product, without a copy of all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/matrix/integer_product.h"
#include "core/engine/matrix/matrix_lines.h"
#include "core/engine/window/window_axis.h"
#include "core/kernels/matrix/pack.h"

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
};

// Line (n, positions...) has the elements (taps..., c), with c varying fastest.
class WindowLines final : public MatrixLines {
 public:
  // `input` is FLOAT32 or FLOAT16 and has an axis for each dimension but N and C.
  WindowLines(const ConstTensorView& input, std::vector<LineAxis> axes);

  void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const override;
  bool PacksAnyNumber() const override { return true; }
  uint32_t WithAbsent(IndexRange lines) const override;
  void Extract(int64_t line, double* to) const override;

 private:
  struct Run;

  template <class Body>
  void ForEachRun(IndexRange lines, Body&& body) const;
  // Adds the offset of a tap of a window, but for the last dimension; false if a tap reads nothing.
  bool AddOuterOffset(const Dims& window, const Dims& tap, int64_t& offset) const;
  void PackTap(const Run& run, const Dims& tap, IndexRange channels, int64_t width,
               double* to) const;

  PackTapFunction* pack_tap_;
  ConstTensorView input_;
  std::vector<LineAxis> axes_;
  std::vector<Range> inside_;  // one for each axis
  Dims windows_;               // n, positions...
  Dims taps_;
};

// --- integers ------------------------------------------------------------------------------------

// The windows of a convolution as columns of a matrix.

// Each position of a part of the output, in row-major order of (N, spatial...), is a line with the
// numbers (C, taps...) of its window in the input (N, C, spatial...), which has type INT8 or UINT8;
// numbers in the padding are 0. There is one matrix.
class IntegerWindowLines : public IntegerLines {
 public:
  // `begin` and `sizes` describe the part, without its channels.
  IntegerWindowLines(const ConstTensorView& input, std::vector<WindowAxis> axes, int64_t zero_point,
                     const Dims& begin, const Dims& sizes);

  int64_t count() const { return Product(sizes_); }

  void Pack(int64_t batch, Range lines, Range numbers, int64_t width, std::optional<int16_t> base,
            int16_t* panel) const override;
  int64_t ZeroPoint(int64_t) const override { return zero_point_; }
  bool is_signed() const override { return input_.type == DataType::kInt8; }

 private:
  // Neighbouring positions along the last dimension.
  struct Segment {
    int64_t count;
    Dims place;  // N, positions...
  };
  std::vector<Segment> SegmentsOf(Range lines) const;

  // Numbers are less `base`; those in the padding are the zero point.
  void FillRow(const std::vector<Segment>& segments, int64_t number, int16_t base,
               int16_t* row) const;
  template <typename T>
  void FillSegment(const Segment& segment, int64_t channel, const Dims& taps, int16_t base,
                   int16_t* row) const;

  ConstTensorView input_;
  std::vector<WindowAxis> axes_;
  Dims windows_;
  int64_t zero_point_;
  Dims begin_, sizes_;
};

}  // namespace dmlop
