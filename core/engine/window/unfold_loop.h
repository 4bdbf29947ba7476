// SPDX-License-Identifier: Apache-2.0
// UNFOLD: copies windows of a tensor (N, C, spatial dimensions...) into columns.
#pragma once

#include <vector>

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

}  // namespace dmlop
