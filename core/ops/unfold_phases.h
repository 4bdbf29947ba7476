// A plane of the input put in phases: image (p, q) has the rows p, p + stride... of the plane, and
// of these the elements q, q + stride... Windows move by one element in an image, so that what a
// tap sees lies side by side as in the output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/kernels/copy.h"
#include "core/ops/unfold_geometry.h"

namespace dmlop {

class UnfoldPhases {
 public:
  // Nothing where images would be large. Their rows are as long as those of blocks, or longer.
  static std::optional<UnfoldPhases> For(const UnfoldDim& row, const UnfoldDim& column,
                                         int64_t width);

  // Whether so many taps make up for the time that images take.
  bool Pay(int64_t taps) const { return taps >= 2 * count(); }

  // Of the images of a plane.
  int64_t bytes() const { return count() * image_size_ * width_; }
  // What a row of the plane takes of them.
  int64_t row_bytes() const { return column_.stride * row_pitch_ * width_; }
  // From row to row of an image, in elements.
  int64_t row_pitch() const { return row_pitch_; }

  // Puts some of the plane's rows where they belong.
  void Fill(Range rows, const std::byte* plane, std::byte* images) const;

  // Where an element of the plane is in the images, in elements.
  int64_t Offset(int64_t row, int64_t column) const {
    const int64_t image = row % row_.stride * column_.stride + column % column_.stride;
    return image * image_size_ + row / row_.stride * row_pitch_ + column / column_.stride;
  }

 private:
  int64_t count() const { return row_.stride * column_.stride; }
  UnfoldPhases(const UnfoldDim& row, const UnfoldDim& column, int64_t width);

  // Some rows of one phase, from number `row` of the plane on.
  void FillRows(int64_t row, int64_t rows, const std::byte* plane, std::byte* images) const;

  UnfoldDim row_;
  UnfoldDim column_;
  int64_t width_;  // bytes of an element
  int64_t row_pitch_;
  int64_t image_size_;
  CopyTileFunction copy_;
};

}  // namespace dmlop
