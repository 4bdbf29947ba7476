// SPDX-License-Identifier: Apache-2.0
// Visits the elements whose offsets lie in a window, for algorithms that would need too much memory
// for all at once.
#pragma once

#include <algorithm>
#include <array>

#include "core/tensor/loop_nest.h"

namespace dmlop {

template <size_t kOperands>
class OffsetWindow {
 public:
  using Offsets = std::array<int64_t, kOperands>;

  // The strides of operand 0 must not be negative.
  explicit OffsetWindow(const LoopNest<kOperands>& nest)
      : nest_(SortedByStride(nest, 0)), spans_(Dims::Filled(nest.rank(), 0)) {
    for (size_t d = nest_.rank(); d-- > 0;) {
      spans_[d] = extent_ - 1;
      extent_ += (nest_.sizes[d] - 1) * nest_.strides[0][d];
    }
  }

  // Returns the number of offsets from the first to the last one of operand 0.
  int64_t extent() const { return extent_; }

  // Calls visit(offsets) for each index whose offset of operand 0 lies in [begin, end), until it
  // returns true; Visit then returns true as well.
  template <typename Visitor>
  bool Visit(int64_t begin, int64_t end, Visitor&& visit) const {
    return Go(0, {}, begin, end, visit);
  }

 private:
  template <typename Visitor>
  bool Go(size_t d, Offsets offsets, int64_t begin, int64_t end, Visitor& visit) const {
    if (d == nest_.rank()) return visit(offsets);
    const Offsets step = nest_.Step(d);
    const int64_t missing = begin - offsets[0] - spans_[d];
    int64_t first = 0;
    int64_t last = nest_.sizes[d] - 1;
    if (step[0] > 0) {
      if (missing > 0) first = (missing + step[0] - 1) / step[0];
      last = std::min(last, (end - 1 - offsets[0]) / step[0]);
    } else if (missing > 0) {
      return false;
    }
    for (size_t k = 0; k < kOperands; ++k) offsets[k] += first * step[k];
    for (int64_t i = first; i <= last; ++i) {
      if (Go(d + 1, offsets, begin, end, visit)) return true;
      for (size_t k = 0; k < kOperands; ++k) offsets[k] += step[k];
    }
    return false;
  }

  LoopNest<kOperands> nest_;  // strides of operand 0 descend
  Dims spans_;                // reach of the loops inside of each one, in operand 0
  int64_t extent_ = 1;
};

}  // namespace dmlop
