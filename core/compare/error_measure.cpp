// SPDX-License-Identifier: Apache-2.0
#include "core/compare/error_measure.h"

#include <cmath>
#include <limits>

#include "core/compare/element_pairs.h"

namespace dmlop {
namespace {

template <typename T>
double ErrorOf(const ValuePair<T>& pair, double expected, ErrorMeasure measure) {
  const double actual = pair.a();
  const bool is_equal = ElementBits(pair.actual) == ElementBits(pair.expected) ||
                        (kIsFloatElement<T> && actual == pair.e()) ||
                        (std::isnan(actual) && std::isnan(pair.e()));
  if (is_equal) return 0;
  if (!pair.is_finite()) return std::numeric_limits<double>::quiet_NaN();
  if (measure == ErrorMeasure::kUlp) {
    return static_cast<double>(UlpDistance(pair.actual, pair.expected));
  }
  const double error = std::abs(std::is_integral_v<T> ? pair.difference() : actual - expected);
  return measure == ErrorMeasure::kRelative ? error / std::abs(expected) : error;
}

}  // namespace

ElementError ElementErrorOf(const ConstTensorView& actual, const ConstTensorView& expected,
                            ErrorMeasure measure) {
  ElementError error;
  VisitElementPairs(actual, expected, [&](const auto& pairs) {
    error = [pairs, measure](int64_t number) {
      return ErrorOf(pairs.PairAt(number), pairs.UnroundedAt(number), measure);
    };
  });
  return error;
}

}  // namespace dmlop
