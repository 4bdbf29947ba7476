// Gradients of normalizations. All views of a call have one type, FLOAT32 or FLOAT16; parameters
// have size 1 along the axes, along which they repeat themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

struct NormalizationGradient {
  ConstTensorView input, gradient;  // of what was normalized, and of the output
  ConstTensorView mean, variance, scale;
  double epsilon;
};

// scale / sqrt(variance + epsilon) * ((gradient - its mean) - (x - its mean) * c / (variance +
// epsilon)), of each slice, where c is the mean of gradient * (x - its mean).
void GradientByMoments(const NormalizationGradient& of, const std::vector<uint32_t>& axes,
                       const TensorView& output);

// The sum over each slice of gradient * (x - mean) / sqrt(variance + epsilon), the sum being exact.
// The output has size 1 along the axes.
void GradientOfScale(const NormalizationGradient& of, const std::vector<uint32_t>& axes,
                     const TensorView& output);

}  // namespace dmlop
