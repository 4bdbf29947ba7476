// SPDX-License-Identifier: Apache-2.0
// Computes rows of x * Scale + Bias.
//
// Floats: the exact value, rounded once to the type. Integers: computed in binary64, truncated
// toward zero and clamped to the type; NaN becomes 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/exact/rounding.h"
#include "core/tensor/data_type.h"
#include "core/tensor/element.h"
#include "core/tensor/half.h"
#include "core/tensor/scale_bias.h"

namespace dmlop {

// Takes adjacent elements. `to` and `from` may be the same. If `streams`, whole lines are written
// past the caches, and other threads see them only after FlushStreams.
using ScaleBiasFunction = void (*)(const ScaleBias& scale_bias, int64_t count, std::byte* to,
                                   const std::byte* from, bool streams);

// Returns the function for a float or integer type of at most 32 bits.
ScaleBiasFunction ScaleBiasFor(DataType type);

// --- one element ---------------------------------------------------------------------------------

// Computes one element of x * Scale + Bias; every vector form must reproduce it bit for bit.

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
