// Softmax and what is like it, of slices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

enum class SoftmaxFunction {
  kSoftmax,     // e^x / the sum of all e^x
  kLogSoftmax,  // its logarithm
  kHardmax,     // 1 for the first of the largest elements, else 0
};

// Within 0.5001 ULP of FLOAT32 or FLOAT16. Views have equal sizes and types.
void ApplySoftmax(SoftmaxFunction function, const std::vector<uint32_t>& axes,
                  const ConstTensorView& input, const TensorView& output);

}  // namespace dmlop
