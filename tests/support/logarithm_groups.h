// SPDX-License-Identifier: Apache-2.0
// Groups for which the logarithm of the sum, or of the sum of exponentials, is hard to round. T is
// float or Half.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/sum_groups.h"

namespace dmlop {

template <typename T>
Values SumNearOne(Engine& engine, size_t count) {
  const int exponent = -UniformInt(engine, 1, -Format<T>::kLeastExponent);
  return SumOf<T>(engine, {1.0, std::ldexp(RandomSign(engine), exponent)}, count);
}

// A midpoint of two numbers whose exponentials are in the range of T.
template <typename T>
double LogarithmTie(Engine& engine) {
  const double magnitude = std::exp2(Uniform(engine, -10, Format<T>::kPrecision == 11 ? 3 : 6));
  const double below = TowardZero<T>(magnitude);
  const double half = std::ldexp(0.5, static_cast<int>(LastPlace<T>(Real(below))));
  return RandomSign(engine) * (below + half);
}

template <typename T>
Values LogSumTie(Engine& engine, size_t count) {
  Real rest(LogarithmTie<T>(engine), 200);
  mpfr_exp(rest.get(), rest.get(), MPFR_RNDN);
  Values terms;
  while (terms.size() < std::min<size_t>(count, 6)) {
    terms.push_back(TowardZero<T>(mpfr_get_d(rest.get(), MPFR_RNDZ)));
    mpfr_sub_d(rest.get(), rest.get(), terms.back(), MPFR_RNDN);
  }
  return SumOf<T>(engine, terms, count);
}

// The first exponentials are of similar size; each of the others leaves a small rest to the next.
template <typename T>
Values LogSumExpTie(Engine& engine, size_t count) {
  Real rest(LogarithmTie<T>(engine), 200);
  mpfr_exp(rest.get(), rest.get(), MPFR_RNDN);
  Values values;
  while (values.size() < std::min<size_t>(count, 7)) {
    Real logarithm(0.0, 128);
    mpfr_log(logarithm.get(), rest.get(), MPFR_RNDN);
    const double below = mpfr_get_d(logarithm.get(), MPFR_RNDN);
    const double step = std::max(1.0, std::fabs(below));
    const double gap = values.size() < 3 && count > 5 ? Uniform(engine, 0.3, 1.5) : 0;
    values.push_back(Rounded<T>(below - gap - std::ldexp(step, 2 - Format<T>::kPrecision)));
    mpfr_set_d(logarithm.get(), values.back(), MPFR_RNDN);
    mpfr_exp(logarithm.get(), logarithm.get(), MPFR_RNDN);
    mpfr_sub(rest.get(), rest.get(), logarithm.get(), MPFR_RNDN);
  }
  values.resize(count,
                OneIn(engine, 2) ? -std::numeric_limits<double>::infinity() : -Format<T>::kMax);
  std::shuffle(values.begin(), values.end(), engine);
  return values;
}

template <typename T>
Values Exponents(Engine& engine, size_t count) {
  const double centers[] = {0, -1, 5, -100, 30000};
  const double spreads[] = {0.001, 1, 20, 200, 3000};
  const double center = OneOf(engine, centers);
  const double spread = OneOf(engine, spreads);
  Values values(count);
  for (double& value : values) value = Rounded<T>(center + Uniform(engine, -spread, spread));
  return values;
}

// The result is nearly zero: the maximum, beside which the other terms vanish.
template <typename T>
Values TinyMaximum(Engine& engine, size_t count) {
  Values values(count, Rounded<T>(-Uniform(engine, 30, 250)));
  values[engine() % count] = Rounded<T>(RandomSign(engine) * std::exp2(-Uniform(engine, 8, 100)));
  return values;
}

// The logarithm of the sum cancels the maximum.
template <typename T>
Values ExponentialsOfOne(Engine& engine, size_t count) {
  Values values(count, Rounded<T>(-std::log(static_cast<double>(count))));
  if (OneIn(engine, 2)) values.back() = TowardZero<T>(values.back() * (1 + 0x1p-9));
  return values;
}

}  // namespace dmlop
