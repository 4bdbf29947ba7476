// SPDX-License-Identifier: Apache-2.0
// The windows of a convolution as columns of a matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/matrix/integer_product.h"
#include "core/engine/window/window_axis.h"

namespace dmlop {

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
