// SPDX-License-Identifier: Apache-2.0
// Families of floats from which tests draw operands.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/fuzz/elements.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/support/random.h"

namespace dmlop {

using Values = std::vector<double>;

template <typename T>
double Draw(const FloatFamily& family, Engine& engine) {
  const double least = std::ldexp(1.0, Format<T>::kLeastExponent);
  return ToDouble(FromDouble<T>(family.draw(engine, Format<T>::kMax, least)));
}

// The midpoint of a random positive finite T and the next one; for the largest T, the point from
// which sums overflow.
template <typename T>
double RandomMidpoint(Engine& engine) {
  const double least = std::ldexp(1.0, Format<T>::kLeastExponent);
  double value = Format<T>::kMax;
  if (UniformInt(engine, 0, 9) != 0) {
    const double exponent = Uniform(engine, std::log2(least), std::log2(Format<T>::kMax));
    value = ToDouble(FromDouble<T>(std::exp2(exponent)));
  }
  return value + std::ldexp(1.0, static_cast<int>(LastPlace<T>(Real(value))) - 1);
}

template <typename T>
double Rounded(double value) {
  return ToDouble(FromDouble<T>(value));
}

template <typename T>
double AnyMagnitude(Engine& engine) {
  return Draw<T>(kFamilies[std::size(kFamilies) - 1], engine);
}

template <typename T>
double Least() {
  return std::ldexp(1.0, Format<T>::kLeastExponent);
}

// `value`, or the next number of T toward zero.
template <typename T>
double TowardZero(double value) {
  const double bounded = std::clamp(value, -Format<T>::kMax, Format<T>::kMax);
  const double last_place = std::ldexp(1.0, static_cast<int>(LastPlace<T>(Real(bounded))));
  return std::trunc(bounded / last_place) * last_place;
}

// The exponents of midpoints that are integers with one bit more than T has: from half the least
// number to where the largest rounds up.
template <typename T>
inline constexpr int kLeastTieExponent = Format<T>::kLeastExponent - 1;
template <typename T>
inline constexpr int kMostTieExponent =
    (Format<T>::kPrecision == 11 ? 16 : 128) - Format<T>::kPrecision - 1;

// An odd integer with one bit more than T has: a midpoint.
template <typename T>
uint64_t RandomTie(Engine& engine) {
  const uint64_t least = uint64_t{1} << Format<T>::kPrecision;
  return OneIn(engine, 8) ? 2 * least - 1 : least + engine() % least / 2 * 2 + 1;
}

}  // namespace dmlop
