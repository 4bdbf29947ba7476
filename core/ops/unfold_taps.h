// UNFOLD tap by tap, for inputs whose neighbours in memory do not lie along the last dimension.
#pragma once

#include <vector>

#include "core/ops/unfold_loop.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Whether the blocks of a row touch a line of memory each, while another dimension has neighbours.
bool LiesAcross(const std::vector<UnfoldDim>& dims, const ConstTensorView& input);

// As UnfoldWindows. What one tap sees is a box of the input, which is copied like any view.
void UnfoldTaps(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                const TensorView& output);

}  // namespace dmlop
