// SPDX-License-Identifier: Apache-2.0
// UNFOLD as moves: a tap reads a box of the input and writes one of the output.
#pragma once

#include <vector>

#include "core/engine/copy/copy_views.h"
#include "core/engine/window/unfold_loop.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Like UnfoldWindows, for any tensors.
void UnfoldByMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output);

// Returns the moves from the input, without the zeros of the padding.
std::vector<Move> UnfoldMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                              const TensorView& output);

}  // namespace dmlop
