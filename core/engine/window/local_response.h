// SPDX-License-Identifier: Apache-2.0
// Divides elements by a power of the sum of squares around them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

// --- sums over windows that slide along the rows of a table --------------------------------------

// The distances by which a window extends from its element; not negative.
struct WindowReach {
  int64_t before, after;

  WindowReach Mirrored() const { return {after, before}; }
};

// Takes a table of numbers in row-major order, and replaces each by the sum of its column over rows
// [row - before, row + after], as far as they exist. This takes three additions per number,
// whatever the reach. A sum does not depend on numbers outside of its window.
std::vector<double> SumsAlongRows(const std::vector<double>& table, int64_t columns,
                                  WindowReach reach);

// Likewise along columns.
std::vector<double> SumsAlongColumns(const std::vector<double>& table, int64_t columns,
                                     WindowReach reach);

// --- local responses -----------------------------------------------------------------------------

// With d = bias + alpha / size * the sum of the squares in the region of an element, which extends
// along channels, or along height and width.
struct LocalResponse {
  bool across_channels;
  uint32_t size;  // at least 1
  float alpha, beta, bias;

  // Returns the distances by which the region extends from its element.
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
