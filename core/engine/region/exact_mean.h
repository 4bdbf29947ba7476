// SPDX-License-Identifier: Apache-2.0
// Exact means of repeated numbers, rounded once.
#pragma once

#include <cmath>

#include "core/exact/dyadic.h"
#include "core/exact/rounding.h"
#include "core/exact/special_terms.h"

namespace dmlop {

// The number of repetitions, as a product of integers up to 2^32.
struct Times {
  double rows, columns;
};

// `for_each_term(visit)` calls visit(times, value) for each number, which is a FLOAT32 or FLOAT16
// number that occurs at least once; `all` is the number of occurrences. T is float or Half.
template <typename T, typename ForEachTerm>
T ExactMean(const Times& all, ForEachTerm&& for_each_term) {
  double sum = 0;
  double magnitude = 0;
  double terms = 0;
  SpecialTerms specials;
  for_each_term([&](const Times& times, double value) {
    if (specials.Take(value)) return;
    const double term = times.rows * times.columns * value;
    sum += term;
    magnitude += std::fabs(term);
    terms += 1;
  });
  if (magnitude == 0 || !specials.are_finite()) return RoundOnce<T>(specials.sum());
  const double count = all.rows * all.columns;
  const double mean = sum / count;
  const double bound = (terms + 8) * 0x1p-52 * magnitude / count;
  if (const auto rounded = RoundWithin<T>({mean, 0}, bound)) return *rounded;
  Dyadic numerator;
  for_each_term([&](const Times& times, double value) {
    numerator = numerator + Dyadic(times.rows) * Dyadic(times.columns) * Dyadic(value);
  });
  return RoundRatio<T>(numerator, Dyadic(all.rows) * Dyadic(all.columns));
}

}  // namespace dmlop
