// SPDX-License-Identifier: Apache-2.0
// Softmax and related functions of slices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

enum class SoftmaxFunction {
  kSoftmax,     // e^x / sum of all e^x
  kLogSoftmax,  // logarithm of the softmax
  kHardmax,     // 1 for the first of the largest elements, 0 for all others
};

// Errors are at most 0.5001 ULP of FLOAT32 or FLOAT16. The views have equal sizes and types.
void ApplySoftmax(SoftmaxFunction function, const std::vector<uint32_t>& axes,
                  const ConstTensorView& input, const TensorView& output);

}  // namespace dmlop
