// UNFOLD as moves: what a tap sees of the input is a box of it, and its place in the output is one.
#pragma once

#include <vector>

#include "core/engine/copy/copy_views.h"
#include "core/engine/window/unfold_loop.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// As UnfoldWindows, of any tensors.
void UnfoldByMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output);

// The moves from the input alone, without the zeros of the padding.
std::vector<Move> UnfoldMoves(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                              const TensorView& output);

}  // namespace dmlop
