// SPDX-License-Identifier: Apache-2.0
// Running sums and products along an axis.
#pragma once

#include <cstddef>

#include "core/tensor/tensor.h"

namespace dmlop {

struct ScanCall {
  size_t axis;
  bool from_the_end;  // runs from the last element to the first
  bool is_exclusive;  // leaves each element out of its own result
};

// Sums of floats are exact and rounded once; integers wrap. Views have the same type, FLOAT32,
// FLOAT16 or a 32-bit or 64-bit integer, and equal sizes; the output may be the input.
void ScanSums(const ScanCall& call, const ConstTensorView& input, const TensorView& output);

// Products of floats are multiplied in the order of the elements, with more than twice their
// precision and any exponent, and rounded once.
void ScanProducts(const ScanCall& call, const ConstTensorView& input, const TensorView& output);

}  // namespace dmlop
