// SPDX-License-Identifier: Apache-2.0
// Normalizes elements by statistics of their slices. All views of a call have the same type,
// FLOAT32 or FLOAT16. Parameters have the input's sizes, or 1 where they are broadcast; views
// without data are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

// For each slice, y = scale * (x - mean) / sqrt(variance + epsilon) + bias + addend.
struct MomentNormalization {
  bool use_mean = true;      // otherwise the mean is 0, in the variance, too
  bool use_variance = true;  // otherwise nothing is divided
  double epsilon = 0;
  ConstTensorView scale, bias, addend;
};

// `variance` has size 1 along the axes; it is not written if it has no data.
void NormalizeByMoments(const MomentNormalization& how, const std::vector<uint32_t>& axes,
                        const ConstTensorView& input, const TensorView& output,
                        const TensorView& variance);

// For each slice, x / max(norm, epsilon), or x if that is 0. The norm is the sum of |x| or, with
// `squares`, the root of the sum of x^2.
struct NormDivision {
  bool squares;
  double epsilon;
};
void DivideByNorm(const NormDivision& how, const std::vector<uint32_t>& axes,
                  const ConstTensorView& input, const TensorView& output);

// For each element, y = scale * (x - mean) / sqrt(variance + epsilon) + bias.
struct GivenMoments {
  ConstTensorView mean, variance, scale, bias;  // mean and bias may have no data
  double epsilon;
};
void NormalizeByGiven(const GivenMoments& given, const ConstTensorView& input,
                      const TensorView& output);

}  // namespace dmlop
