// SPDX-License-Identifier: Apache-2.0
// Groups whose product is hard to round, or leaves the range in between. T is float or Half.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/support/float_families.h"
#include "tests/support/near_ties.h"

namespace dmlop {

// Powers of two from 2^-kMostPower to 2^kMostPower are normal numbers of T.
template <typename T>
inline constexpr int kMostPower = Format<T>::kPrecision == 11 ? 14 : 126;

// Powers of two whose product is 2^exponent.
template <typename T>
Values PowersOf(int exponent) {
  Values powers;
  while (exponent != 0) {
    const int step = std::clamp(exponent, -kMostPower<T>, kMostPower<T>);
    powers.push_back(std::ldexp(1.0, step));
    exponent -= step;
  }
  return powers;
}

// `count` factors with the same product; running products take any exponent.
template <typename T>
Values ProductOf(Engine& engine, Values factors, size_t count) {
  factors.resize(std::min(factors.size(), count));
  while (factors.size() < count) {
    if (factors.size() + 2 <= count) {
      const int exponent = UniformInt(engine, 0, kMostPower<T>);
      const double power = std::ldexp(RandomSign(engine), exponent);
      factors.insert(factors.end(), {power, 1 / power});
    } else {
      factors.push_back(RandomSign(engine));
    }
  }
  std::shuffle(factors.begin(), factors.end(), engine);
  if (OneIn(engine, 3)) std::sort(factors.begin(), factors.end());
  return factors;
}

template <typename T>
Values Scaled(Values factors, int exponent) {
  const Values powers = PowersOf<T>(exponent);
  factors.insert(factors.end(), powers.begin(), powers.end());
  return factors;
}

// A tie of two odd factors, sometimes less 2^-46 or 2^-20 of it: (1 + e)(1 - e) < 1.
template <typename T>
Values ProductTie(Engine& engine, size_t count) {
  const int small = 2 * UniformInt(engine, 1, 100) + 1;
  const int from = (1 << Format<T>::kPrecision) / small + 1;
  const bool subnormal = OneIn(engine, 4);
  const int large = subnormal ? 1 : UniformInt(engine, from, 2 * from - 4) | 1;
  Values factors = {static_cast<double>(small), static_cast<double>(large)};
  if (OneIn(engine, 3)) {
    const double epsilon = std::ldexp(1.0, 1 - Format<T>::kPrecision);
    factors.insert(factors.end(), {1 + epsilon, 1 - epsilon});
  }
  const int exponent = subnormal ? kLeastTieExponent<T>
                                 : UniformInt(engine, kLeastTieExponent<T>, kMostTieExponent<T>);
  return ProductOf<T>(engine, Scaled<T>(factors, exponent), count);
}

template <typename T>
Values ProductNearTie(Engine& engine, size_t count) {
  const Values& factors = OneOf(engine, NearTies<T>());
  double bits = 0;
  for (const double factor : factors) bits += std::log2(factor);
  const int exponent = UniformInt(engine, kLeastTieExponent<T>, kMostTieExponent<T>) +
                       Format<T>::kPrecision - static_cast<int>(bits);
  return ProductOf<T>(engine, Scaled<T>(factors, exponent), count);
}

// Running products go far out of range, and back in the end.
template <typename T>
Values ProductFarOut(Engine& engine, size_t count) {
  Values factors(count);
  for (size_t i = 0; i < count; ++i) {
    const int exponent = UniformInt(engine, 0, kMostPower<T>);
    const double magnitude = std::ldexp(Uniform(engine, 0.5, 2), exponent);
    factors[i] = Rounded<T>(RandomSign(engine) * magnitude);
    factors[count - 1 - i] = Rounded<T>(RandomSign(engine) / magnitude);
  }
  return factors;
}

}  // namespace dmlop
