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
  if (pair.is_equal()) return 0;
  if (!pair.is_finite()) return std::numeric_limits<double>::quiet_NaN();
  if (measure == ErrorMeasure::kUlp) {
    return static_cast<double>(UlpDistance(pair.actual, pair.expected));
  }
  const double error = std::abs(std::is_integral_v<T> ? pair.difference() : pair.a() - expected);
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

// Each figure is sought among the errors from the one before on, as those are no less.
ErrorFigures FiguresOf(std::vector<double> errors) {
  const auto last = errors.end() - 1;
  const auto middle = errors.begin() + std::ssize(errors) / 2;
  std::ranges::nth_element(errors, middle);
  const bool is_even = errors.size() % 2 == 0;
  const double median =
      is_even ? (*std::max_element(errors.begin(), middle) + *middle) / 2 : *middle;
  const auto place = errors.begin() + (last - errors.begin()) * 99 / 100;
  std::nth_element(place < middle ? errors.begin() : middle, place, errors.end());
  return {median, *place, *std::max_element(place, errors.end())};
}

UnitStatistics StatisticsOf(const UnitErrors& errors) {
  UnitStatistics statistics{FiguresOf(errors.units), errors.most_terms, !errors.allowed.empty()};
  for (const double units : errors.units) ++statistics.histogram[UnitBin(units)];
  return statistics;
}

// --- signs of errors -----------------------------------------------------------------------------

namespace {

using FloatTypes = Join<TypeList<double>, Floats>;

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
    Count(Widen(ElementAt<T>(actual, index)), Widen(ElementAt<E>(expected, index)), bias);
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
