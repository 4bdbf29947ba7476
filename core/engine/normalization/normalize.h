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

// --- softmax -------------------------------------------------------------------------------------

enum class SoftmaxFunction {
  kSoftmax,     // e^x / sum of all e^x
  kLogSoftmax,  // logarithm of the softmax
  kHardmax,     // 1 for the first of the largest elements, 0 for all others
};

// Errors are at most 0.5001 ULP of FLOAT32 or FLOAT16. The views have equal sizes and types.
void ApplySoftmax(SoftmaxFunction function, const std::vector<uint32_t>& axes,
                  const ConstTensorView& input, const TensorView& output);

// --- integers by a scale and a zero point that suit the range of a tensor ------------------------

// The scale, FLOAT32, is (hi - lo) / (Max - Min), rounded once; hi and lo are the greatest and
// least numbers or 0, and Min and Max bound the output's type, INT8 or UINT8. The zero point is Min
// - lo / scale, and the output is x / scale + zero point as in QUANTIZE_LINEAR. Scale and zero
// point have one element.
struct QuantizedTensors {
  TensorView output, scale, zero_point;
};
void QuantizeDynamically(const ConstTensorView& input, const QuantizedTensors& to);

// Returns whether all is zeros and NaN, for which the scale is 1 and the zero point Min.
bool HasNoRange(const ConstTensorView& input);

// --- gradients -----------------------------------------------------------------------------------
// Parameters have size 1 along the axes and are broadcast there.

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
