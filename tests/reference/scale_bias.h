// SPDX-License-Identifier: Apache-2.0
// ScaleBias of one element, by its rules.
#pragma once

#include <cmath>
#include <limits>

#include "core/tensor/scale_bias.h"
#include "tests/exact/mpfr_oracle.h"

namespace dmlop::reference {

template <typename T>
T NarrowedOrCanonicalNan(double value) {
  return FromDouble<T>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}

// ID-8, ID-9: the exact value is rounded once.
template <typename T>
T ScaledFloat(const ScaleBias& scale_bias, double x) {
  const double scale = ToDouble(scale_bias.scale);
  const double bias = ToDouble(scale_bias.bias);
  const double plain = x * scale + bias;
  // Binary64 handles infinities, NaN and the signs of zeros correctly.
  if (!std::isfinite(plain) || (x * scale == 0 && bias == 0)) {
    return NarrowedOrCanonicalNan<T>(plain);
  }
  Real exact(x);
  mpfr_mul_d(exact.get(), exact.get(), scale, MPFR_RNDN);
  mpfr_add_d(exact.get(), exact.get(), bias, MPFR_RNDN);
  return RoundReal<T>(exact);
}

// ID-10: computed in binary64, truncated toward zero and clamped; NaN becomes 0.
template <typename T>
T ScaledInteger(const ScaleBias& scale_bias, T x) {
  const double product = static_cast<double>(x) * ToDouble(scale_bias.scale);
  const double value = std::trunc(product + ToDouble(scale_bias.bias));
  if (std::isnan(value)) return 0;
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  if (value < static_cast<double>(kMin)) return kMin;
  if (value > static_cast<double>(kMax)) return kMax;
  return static_cast<T>(value);
}

}  // namespace dmlop::reference
