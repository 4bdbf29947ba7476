// SPDX-License-Identifier: Apache-2.0
// Relations between the taps and blocks of a dimension and its input.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/integers.h"
#include "core/engine/window/unfold_loop.h"

namespace dmlop {

inline int64_t Position(const UnfoldDim& dim, int64_t block, int64_t tap) {
  return block * dim.stride - dim.padding + tap * dim.dilation;
}

// Returns the steps i in [0, count) with start + i * step in [0, size).
inline Range StepsInside(int64_t start, int64_t step, int64_t count, int64_t size) {
  const auto steps_before = [&](int64_t distance) {
    if (step > 1) distance = (distance + step - 1) / step;
    return std::clamp(distance, int64_t{0}, count);
  };
  return {steps_before(-start), steps_before(size - start)};
}

// Return the blocks for which a tap, and the taps for which a block, lies inside the input.
inline Range BlocksInside(const UnfoldDim& dim, int64_t tap) {
  return StepsInside(Position(dim, 0, tap), dim.stride, dim.blocks, dim.size);
}
inline Range TapsInside(const UnfoldDim& dim, int64_t block) {
  return StepsInside(Position(dim, block, 0), dim.dilation, dim.window, dim.size);
}

}  // namespace dmlop
