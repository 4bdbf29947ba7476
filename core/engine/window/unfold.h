// SPDX-License-Identifier: Apache-2.0
// UNFOLD: copies windows of a tensor (N, C, spatial dimensions...) into columns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/integers.h"
#include "core/engine/copy/copy_views.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// One spatial dimension.
struct UnfoldDim {
  int64_t size;    // size of the input
  int64_t window;  // taps
  int64_t blocks;  // positions of the window
  int64_t stride, dilation;
  int64_t padding;  // before the input; negative if the first window begins inside it
  int64_t step;     // stride of the input in elements
};

// The output's last three dimensions are (N, C * prod(window), prod(blocks)).
void UnfoldWindows(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output);

// --- the taps and blocks of a dimension, and its input -------------------------------------------

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

// --- moves: a tap reads a box of the input and writes one of the output --------------------------

// Like UnfoldWindows, for any tensors.
void UnfoldByMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output);

// Returns the moves from the input, without the zeros of the padding.
std::vector<Move> UnfoldMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                              const TensorView& output);

// --- images --------------------------------------------------------------------------------------

// The elements that column taps read from some rows of the input are first packed, including zeros
// of the padding. A row tap then reads such an image as a single run, so rows are packed only once
// for all row taps, and written in whole cache lines.

// Like UnfoldWindows. Returns false, and does nothing, if images would exceed a cache or the output
// written from them, or if rows are long enough without images.
bool UnfoldByImages(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                    const TensorView& output);

}  // namespace dmlop
