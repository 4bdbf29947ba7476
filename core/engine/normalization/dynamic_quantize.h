// SPDX-License-Identifier: Apache-2.0
// Quantizes a tensor to integers by a scale and a zero point that suit its range.
#pragma once

#include "core/tensor/tensor.h"

namespace dmlop {

// The scale, FLOAT32, is (hi - lo) / (Max - Min), rounded once; hi and lo are the greatest and
// least numbers or 0, and Min and Max bound the output's type, INT8 or UINT8. The zero point is Min
// - lo / scale, and the output is x / scale + zero point as in QUANTIZE_LINEAR. Scale and zero
// point have one element.
struct QuantizedTensors {
  TensorView output, scale, zero_point;
};
void QuantizeDynamically(const ConstTensorView& input, const QuantizedTensors& to);

// Whether there is nothing but zeros and NaN, for which the scale is 1 and the zero point Min.
bool HasNoRange(const ConstTensorView& input);

}  // namespace dmlop
