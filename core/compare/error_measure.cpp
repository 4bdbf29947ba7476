// SPDX-License-Identifier: Apache-2.0
#include "core/compare/error_measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/compare/elements.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

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

double MeanOfMiddle(std::vector<double>& values) {
  const auto upper = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, upper);
  return (*std::max_element(values.begin(), upper) + *upper) / 2;
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
  statistics.median = sorted.size() % 2 == 0 ? MeanOfMiddle(sorted) : rank(0.5);
  statistics.p99 = rank(0.99);
  statistics.max = rank(1);
  return statistics;
}

// --- signs of errors -----------------------------------------------------------------------------

namespace {

using FloatTypes = Join<TypeList<double>, Floats>;

template <typename T>
auto Comparable(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    return AsDouble(value);
  }
}

template <typename Wide>
void Count(Wide actual, Wide expected, Bias& bias) {
  const bool is_above = actual > expected;
  const bool is_below = actual < expected;
  bias.above += is_above;
  bias.below += is_below;
  bias.toward_zero += (is_above && actual <= 0) || (is_below && actual >= 0);
}

// Elements of archives need not be aligned.
template <typename T>
T ElementAt(const ConstTensorView& view, const Dims& index) {
  return ElementOf<T>(view.data + OffsetOf(view.layout, index) * int64_t{sizeof(T)});
}

template <typename T, typename E>
Bias CountAll(const ConstTensorView& actual, const ConstTensorView& expected) {
  Bias bias;
  const Dims& sizes = expected.layout.sizes;
  Dims index = Dims::Filled(expected.layout.rank(), 0);
  for (int64_t i = 0; i < expected.layout.element_count(); ++i) {
    Count(Comparable(ElementAt<T>(actual, index)), Comparable(ElementAt<E>(expected, index)), bias);
    Advance(sizes, index);
  }
  return bias;
}

}  // namespace

Bias BiasOf(const ConstTensorView& actual, const ConstTensorView& expected) {
  Bias bias;
  if (actual.type == expected.type) {
    VisitDataType(AllTypes{}, actual.type,
                  [&]<typename T>() { bias = CountAll<T, T>(actual, expected); });
    return bias;
  }
  VisitDataType(FloatTypes{}, actual.type, [&]<typename T>() {
    VisitDataType(FloatTypes{}, expected.type,
                  [&]<typename E>() { bias = CountAll<T, E>(actual, expected); });
  });
  return bias;
}

}  // namespace dmlop
