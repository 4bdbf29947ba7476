// SPDX-License-Identifier: Apache-2.0
#include "core/compare/error_measure.h"

#include <algorithm>
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

size_t UnitBin(double units) {
  if (units <= 0) return 0;
  constexpr size_t kLast = UnitHistogram().size() - 1;
  if (!(units < 0x1p63)) return kLast;
  return units <= 1 ? 1 : 1 + static_cast<size_t>(std::ceil(std::log2(units)));
}

UnitStatistics StatisticsOf(const UnitErrors& errors) {
  UnitStatistics statistics;
  statistics.most_terms = errors.most_terms;
  statistics.has_limits = !errors.allowed.empty();
  for (const double units : errors.units) ++statistics.histogram[UnitBin(units)];
  std::vector<double> sorted = errors.units;
  const auto rank = [&](double part) {
    const auto last = static_cast<double>(sorted.size() - 1);
    const auto place = sorted.begin() + static_cast<ptrdiff_t>(std::floor(part * last));
    std::nth_element(sorted.begin(), place, sorted.end());
    return *place;
  };
  statistics.median = rank(0.5);
  statistics.p99 = rank(0.99);
  statistics.max = rank(1);
  return statistics;
}

}  // namespace dmlop
