// SPDX-License-Identifier: Apache-2.0
// Groups whose sum, sum of magnitudes or average is hard to round. T is float or Half.
#pragma once

#include <algorithm>
#include <cmath>

#include "tests/support/float_families.h"

namespace dmlop {

// Terms that sum to `value`, except for a rest below the least number of T.
template <typename T>
Values TermsOf(double value) {
  Values terms;
  for (double term = TowardZero<T>(value); term != 0; term = TowardZero<T>(value)) {
    terms.push_back(term);
    value -= term;
  }
  return terms;
}

// Terms that sum to 2^exponent less a rest, smaller by a factor of 2^-(levels * precision), if T
// has numbers that small.
template <typename T>
Values TermsBelow(int exponent, int levels) {
  Values terms;
  for (; levels > 0 && exponent - Format<T>::kPrecision >= Format<T>::kLeastExponent; --levels) {
    exponent -= Format<T>::kPrecision;
    terms.push_back(std::ldexp(std::ldexp(1.0, Format<T>::kPrecision) - 1, exponent));
  }
  return terms;
}

// Replaces one term by two with the same sum.
template <typename T>
void SplitTerm(Engine& engine, Values& terms) {
  double& term = terms[engine() % terms.size()];
  const double half = TowardZero<T>(term / 2);
  term -= half;
  terms.push_back(half);
}

enum class Signs { kAny, kIgnored };

// `count` terms with the same sum or, if signs are ignored, the same sum of magnitudes.
template <typename T, Signs kSigns = Signs::kAny>
Values SumOf(Engine& engine, Values terms, size_t count) {
  terms.resize(std::min(terms.size(), count));
  while (terms.size() < count) {
    if (kSigns == Signs::kAny && terms.size() + 2 <= count && OneIn(engine, 2)) {
      const double term = AnyMagnitude<T>(engine);
      terms.insert(terms.end(), {term, -term});
    } else {
      SplitTerm<T>(engine, terms);
    }
  }
  if (kSigns == Signs::kIgnored) {
    for (double& term : terms) term *= RandomSign(engine);
  }
  std::shuffle(terms.begin(), terms.end(), engine);
  return terms;
}

// A number that is negligible beside `value`, or the least number of T.
template <typename T>
double Tiny(Engine& engine, double value) {
  const double far = std::ldexp(value, -UniformInt(engine, 10, 120));
  return std::max(Least<T>(), std::ldexp(1.0, std::ilogb(far)));
}

template <typename T>
Values Cancelling(Engine& engine, size_t count) {
  return SumOf<T>(engine, {AnyMagnitude<T>(engine) * 0x1p-12, Least<T>()}, count);
}

template <typename T, Signs kSigns>
Values SumTie(Engine& engine, size_t count) {
  const double tie = RandomMidpoint<T>(engine);
  const double below = TowardZero<T>(tie);
  const double half = tie - below;  // half a unit in the last place
  Values terms = {below};
  if (half >= Least<T>()) {
    const Values above = TermsBelow<T>(std::ilogb(half), UniformInt(engine, 1, 6));
    const Values halves[] = {{half}, {half, Tiny<T>(engine, half)}, above};
    const Values& chosen = OneOf(engine, halves);
    terms.insert(terms.end(), chosen.begin(), chosen.end());
  }
  const double sign = RandomSign(engine);
  for (double& term : terms) term *= sign;
  return SumOf<T, kSigns>(engine, terms, count);
}

// One large number and many that are too small for its last place in binary64.
template <typename T>
Values MagnitudeSumTieOfMany(Engine& engine, size_t count) {
  constexpr size_t kRest = 8;
  const double tie = RandomMidpoint<T>(engine);
  Values terms(count > kRest ? count - kRest : 0);
  Real rest(tie);
  for (double& term : terms) {
    term = Rounded<T>(tie * std::exp2(Uniform(engine, -40, -30)));
    mpfr_sub_d(rest.get(), rest.get(), term, MPFR_RNDN);
  }
  while (terms.size() < count) {
    terms.push_back(TowardZero<T>(mpfr_get_d(rest.get(), MPFR_RNDZ)));
    mpfr_sub_d(rest.get(), rest.get(), terms.back(), MPFR_RNDN);
  }
  return SumOf<T, Signs::kIgnored>(engine, terms, count);
}

// A number and its neighbour, equally often.
template <typename T>
Values AverageOfTwo(Engine& engine, size_t count) {
  const double tie = RandomMidpoint<T>(engine);
  const double below = TowardZero<T>(tie);
  const double above = std::min(Format<T>::kMax, 2 * tie - below);
  const double sign = RandomSign(engine);
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = sign * (i % 2 == 0 ? below : above);
  std::shuffle(values.begin(), values.end(), engine);
  return values;
}

template <typename T>
Values AverageTie(Engine& engine, size_t count) {
  double sum = RandomMidpoint<T>(engine) * static_cast<double>(count);
  while (sum > Format<T>::kMax / 2) sum /= 2;
  Values terms = TermsOf<T>(RandomSign(engine) * sum);
  if (!OneIn(engine, 3)) terms.push_back(WithRandomSign(engine, Tiny<T>(engine, sum)));
  return SumOf<T>(engine, terms, count);
}

}  // namespace dmlop
