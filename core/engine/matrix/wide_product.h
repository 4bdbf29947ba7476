// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of 16-bit or 32-bit integers, less their zero points.
#pragma once

#include <span>

#include "core/base/integers.h"
#include "core/engine/matrix/integer_product.h"

namespace dmlop {

// Matrices in a tensor of integers: rows of the left one along its last dimension but one, columns
// of the right one along its last. Both have the same type. Zero points are as in
// IntegerMatrixLines.
struct WideMatrix {
  ConstTensorView view;
  std::span<const int64_t> zero_points;
};

// Passes every exact sum to the sink once.
void MultiplyWideIntegers(const WideMatrix& left, const WideMatrix& right,
                          const SumSink<Int128>& sink);

}  // namespace dmlop
