// SPDX-License-Identifier: Apache-2.0
// Computes one element of x * Scale + Bias; every vector form must reproduce it bit for bit.
#pragma once

#include <type_traits>

#include "core/exact/rounding.h"
#include "core/kernels/element_wise/scale_bias.h"
#include "core/tensor/convert_element.h"
#include "core/tensor/half.h"

namespace dmlop {

template <typename T>
T ScaleBiasFloatElement(const ScaleBias& scale_bias, float x) {
  // The product of two FLOAT32 is exact in binary64; the sum is exact as head + tail.
  const double product = static_cast<double>(x) * static_cast<double>(scale_bias.scale);
  const double bias = static_cast<double>(scale_bias.bias);
  const double head = product + bias;
  const double bias_part = head - product;
  const double tail = (product - (head - bias_part)) + (bias - bias_part);
  return RoundOnce<T>(head, tail);
}

inline float ScaleBiasElement(const ScaleBias& scale_bias, float x) {
  return ScaleBiasFloatElement<float>(scale_bias, x);
}

inline Half ScaleBiasElement(const ScaleBias& scale_bias, Half x) {
  return ScaleBiasFloatElement<Half>(scale_bias, ToFloat(x));
}

template <typename T>
requires std::is_integral_v<T> T ScaleBiasElement(const ScaleBias& scale_bias, T x) {
  const double value = static_cast<double>(x) * static_cast<double>(scale_bias.scale) +
                       static_cast<double>(scale_bias.bias);
  return Truncated<T>(value);
}

}  // namespace dmlop
