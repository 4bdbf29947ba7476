// SPDX-License-Identifier: Apache-2.0
// UNFOLD: copies windows of a tensor (N, C, spatial dimensions...) into columns.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/copy/copy_views.h"
#include "core/engine/window/window_axis.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// One spatial dimension.
struct UnfoldDim : WindowAxis {
  int64_t blocks;  // positions of the window
  int64_t step;    // stride of the input in elements
};

// The output's last three dimensions are (N, C * prod(window), prod(blocks)).
void UnfoldWindows(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output);

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
