// SPDX-License-Identifier: Apache-2.0
// Gradients of normalizations. All views of a call have the same type, FLOAT32 or FLOAT16.
// Parameters have size 1 along the axes and are broadcast there.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

struct NormalizationGradient {
  ConstTensorView input, gradient;  // the normalized input; the output's gradient
  ConstTensorView mean, variance, scale;
  double epsilon;
};

// For each slice, scale / sqrt(variance + epsilon) * ((gradient - its mean) - (x - its mean) * c /
// (variance + epsilon)), where c is the mean of gradient * (x - its mean).
void GradientByMoments(const NormalizationGradient& of, const std::vector<uint32_t>& axes,
                       const TensorView& output);

// For each slice, the exact sum of gradient * (x - mean) / sqrt(variance + epsilon). The output has
// size 1 along the axes.
void GradientOfScale(const NormalizationGradient& of, const std::vector<uint32_t>& axes,
                     const TensorView& output);

}  // namespace dmlop
