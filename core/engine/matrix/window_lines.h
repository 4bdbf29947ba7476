// Windows of a tensor (N, C, S...) as columns of a matrix product: no copy of all of them is made.
#pragma once

#include <vector>

#include "core/base/integers.h"
#include "core/engine/matrix/matrix_lines.h"
#include "core/kernels/matrix/pack_windows.h"

namespace dmlop {

// One spatial dimension: tap t of the window at position p reads element
// first + p * position_step + t * tap_step, and nothing where there is no such, or where p is from
// `limit` on.
struct WindowAxis {
  int64_t size;  // of the tensor
  int64_t positions;
  int64_t taps;  // 1 at least
  int64_t first;
  int64_t position_step;  // 1 at least
  int64_t tap_step;
  int64_t limit;

  int64_t ElementAt(int64_t position, int64_t tap) const {
    return first + position * position_step + tap * tap_step;
  }
  bool Has(int64_t position, int64_t tap) const {
    const int64_t element = ElementAt(position, tap);
    return position < limit && element >= 0 && element < size;
  }
  // Positions where all taps have an element.
  Range Inside() const;
};

// Line (n, positions...) has the elements (taps..., c), the last fastest.
class WindowLines final : public MatrixLines {
 public:
  // `input` is FLOAT32 or FLOAT16; there is an axis for each of its dimensions but N and C.
  WindowLines(const ConstTensorView& input, std::vector<WindowAxis> axes);

  void Pack(IndexRange lines, IndexRange elements, int64_t width, double* to) const override;
  bool PacksAnyNumber() const override { return true; }
  uint32_t WithAbsent(IndexRange lines) const override;
  void Extract(int64_t line, double* to) const override;

 private:
  struct Run;

  template <class Body>
  void ForEachRun(IndexRange lines, Body&& body) const;
  // Where tap and window meet, without the last dimension; none where one of the others has none.
  bool AddOuterOffset(const Dims& window, const Dims& tap, int64_t& offset) const;
  void PackTap(const Run& run, const Dims& tap, IndexRange channels, int64_t width,
               double* to) const;

  PackTapFunction* pack_tap_;
  ConstTensorView input_;
  std::vector<WindowAxis> axes_;
  std::vector<Range> inside_;  // of each axis
  Dims windows_;               // n, positions...
  Dims taps_;
};

}  // namespace dmlop
