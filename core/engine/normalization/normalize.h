// Elements normalized by what is known of their slices. All views of a call have one type, FLOAT32
// or FLOAT16. Parameters have the input's sizes or 1, along which they repeat themselves; those
// without data are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

// y = scale * (x - mean) / sqrt(variance + epsilon) + bias + addend, of each slice.
struct MomentNormalization {
  bool use_mean = true;      // else nothing is subtracted, there and from x
  bool use_variance = true;  // else nothing is divided
  double epsilon = 0;
  ConstTensorView scale, bias, addend;
};

// `variance` has size 1 along the axes; without data it is not wanted.
void NormalizeByMoments(const MomentNormalization& how, const std::vector<uint32_t>& axes,
                        const ConstTensorView& input, const TensorView& output,
                        const TensorView& variance);

// x / max(norm, epsilon), of each slice; x where that is 0. The norm is the sum of |x| or, with
// `squares`, the root of the sum of x^2.
struct NormDivision {
  bool squares;
  double epsilon;
};
void DivideByNorm(const NormDivision& how, const std::vector<uint32_t>& axes,
                  const ConstTensorView& input, const TensorView& output);

// y = scale * (x - mean) / sqrt(variance + epsilon) + bias, of each element.
struct GivenMoments {
  ConstTensorView mean, variance, scale, bias;  // without data, a mean and a bias are left out
  double epsilon;
};
void NormalizeByGiven(const GivenMoments& given, const ConstTensorView& input,
                      const TensorView& output);

}  // namespace dmlop
