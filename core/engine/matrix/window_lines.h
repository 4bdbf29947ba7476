// SPDX-License-Identifier: Apache-2.0
// Windows of a tensor (N, C, S...) as columns of a matrix product, without a copy of all of them.
#pragma once

#include <vector>

#include "core/base/integers.h"
#include "core/engine/matrix/matrix_lines.h"
#include "core/kernels/matrix/pack_windows.h"

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

}  // namespace dmlop
