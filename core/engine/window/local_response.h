// SPDX-License-Identifier: Apache-2.0
// Divides elements by a power of the sum of squares around them.
#pragma once

#include <cstdint>

#include "core/engine/window/window_sums.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// With d = bias + alpha / size * the sum of the squares in the region of an element, which extends
// along channels, or along height and width.
struct LocalResponse {
  bool across_channels;
  uint32_t size;  // at least 1
  float alpha, beta, bias;

  // How far the region extends from its element.
  WindowReach Reach() const { return {(int64_t{size} - 1) / 2, int64_t{size} / 2}; }
};

// x / d^beta. Tensors are {N, C, H, W}, all of FLOAT32 or all of FLOAT16.
void NormalizeLocalResponse(const LocalResponse& response, const ConstTensorView& input,
                            const TensorView& output);

// The derivative, with respect to the input's elements, of the sum of the normalized elements, each
// times its gradient.
void LocalResponseGradient(const LocalResponse& response, const ConstTensorView& input,
                           const ConstTensorView& gradient, const TensorView& output);

}  // namespace dmlop
