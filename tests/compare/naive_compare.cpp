// SPDX-License-Identifier: Apache-2.0
#include "tests/compare/naive_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"

namespace dmlop {
namespace {

using Wide = __int128;  // holds the difference of any two 64-bit integers

// Integers as they are; floats numbered in the order of their values.
template <typename T>
Wide Place(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    const uint64_t sign = uint64_t{1} << (8 * sizeof(T) - 1);
    const uint64_t bits = reference::ToBits(value);
    return bits < sign ? Wide{bits} : Wide{sign} - Wide{bits};
  }
}

template <typename T>
double Value(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<double>(ToFloat(value));
  } else {
    return static_cast<double>(value);
  }
}

template <typename T, typename E>
T Rounded(E value) {
  if constexpr (std::is_same_v<T, E>) {
    return value;
  } else if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(Value(value));
  } else {
    return static_cast<T>(Value(value));
  }
}

// `nearest` is the expected value, rounded to T.
template <typename T, typename E>
Difference Measure(T actual, T nearest, E expected, int64_t index) {
  Difference d;
  d.index = index;
  d.actual = Value(actual);
  d.expected = Value(expected);
  d.actual_bits = reference::ToBits(actual);
  d.expected_bits = reference::ToBits(expected);
  if (std::isnan(d.actual) && std::isnan(d.expected)) return d;
  if (!std::isfinite(d.actual) || !std::isfinite(Value(nearest))) {
    if (d.actual == Value(nearest)) return d;
    d.is_mismatch = true;
    d.absolute_error = d.relative_error = std::numeric_limits<double>::infinity();
    d.ulp_error = Difference::kMismatchUlp;
    return d;
  }
  const Wide distance = Place(actual) - Place(nearest);
  d.ulp_error = static_cast<uint64_t>(distance < 0 ? -distance : distance);
  if (d.actual == d.expected && d.ulp_error == 0) return d;
  d.absolute_error =
      std::is_integral_v<T> ? static_cast<double>(d.ulp_error) : std::abs(d.actual - d.expected);
  d.relative_error = d.absolute_error / std::abs(d.expected);
  return d;
}

template <typename T>
bool IsClose(const Difference& d, const Tolerance& tolerance) {
  if (d.is_mismatch) return false;
  if (d.ulp_error == 0) return true;
  const double limit = tolerance.absolute + tolerance.relative * std::abs(d.expected);
  if (!std::is_integral_v<T>) {
    return std::isfinite(d.absolute_error) && d.absolute_error <= limit;
  }
  return static_cast<long double>(d.ulp_error) <= static_cast<long double>(limit);
}

double Used(const Difference& d, const Tolerance& tolerance) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (d.ulp_error == 0) return 0;
  const double limit = tolerance.absolute + tolerance.relative * std::abs(d.expected);
  const double close =
      std::isfinite(d.absolute_error) && limit > 0 ? d.absolute_error / limit : kNone;
  const double ulp = static_cast<double>(d.ulp_error) / static_cast<double>(tolerance.ulp);
  return std::min(close, ulp);
}

template <typename T>
bool IsTiny(T value) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, Half>) {
    return Value(value) != 0 && std::abs(Value(value)) < 0x1p-14;
  } else if constexpr (std::is_floating_point_v<T>) {
    return value != 0 && std::abs(value) < Limits::min();
  } else {
    return false;
  }
}

size_t NaiveBin(uint64_t ulp) {
  size_t bin = ulp == 0 ? 0 : 1;
  for (Wide limit = 1; ulp > limit; limit *= 2) ++bin;
  return bin;
}

void Count(const Difference& d, ErrorTally& tally) {
  ++tally.ulp_histogram[NaiveBin(d.ulp_error)];
  tally.max_absolute_error = std::max(tally.max_absolute_error, d.absolute_error);
  tally.max_relative_error = std::max(tally.max_relative_error, d.relative_error);
  tally.max_ulp_error = std::max(tally.max_ulp_error, d.ulp_error);
}

template <typename T>
void Judge(const Difference& d, bool equal_bits, const Tolerance& tolerance, Comparison& result) {
  if (d.is_mismatch) {
    const bool has_nan = std::isnan(d.actual) || std::isnan(d.expected);
    ++(has_nan ? result.nan_mismatches : result.infinity_mismatches);
  } else {
    result.most_used = std::max(result.most_used, Used(d, tolerance));
  }
  const bool close = IsClose<T>(d, tolerance);
  if (!close && result.smallest_passing_ulp) {
    result.smallest_passing_ulp = std::max(*result.smallest_passing_ulp, d.ulp_error);
  }
  const bool passes =
      tolerance.bits ? equal_bits : close || (!d.is_mismatch && d.ulp_error <= tolerance.ulp);
  if (!d.is_mismatch) Count(d, passes ? result.passing : result.failing);
  if (passes) return;
  ++result.difference_count;
  if (!result.first) result.first = d;
  if (!result.worst || d.ulp_error > result.worst->ulp_error) result.worst = d;
  const bool is_finite = !d.is_mismatch && std::isfinite(d.actual) && std::isfinite(d.expected);
  if (is_finite && (!result.worst_finite || d.ulp_error > result.worst_finite->ulp_error)) {
    result.worst_finite = d;
  }
  result.listed.push_back(d);
}

void ExpectSame(const std::optional<Difference>& actual,
                const std::optional<Difference>& expected) {
  ASSERT_EQ(actual.has_value(), expected.has_value());
  if (!actual) return;
  const auto bits = [](double x) { return reference::ToBits(x); };
  EXPECT_EQ(actual->index, expected->index);
  EXPECT_EQ(bits(actual->actual), bits(expected->actual));
  EXPECT_EQ(bits(actual->expected), bits(expected->expected));
  EXPECT_EQ(actual->actual_bits, expected->actual_bits);
  EXPECT_EQ(actual->expected_bits, expected->expected_bits);
  EXPECT_EQ(actual->is_mismatch, expected->is_mismatch);
  EXPECT_EQ(bits(actual->absolute_error), bits(expected->absolute_error));
  EXPECT_EQ(bits(actual->relative_error), bits(expected->relative_error));
  EXPECT_EQ(actual->ulp_error, expected->ulp_error);
}

}  // namespace

Comparison NaiveCompare(const ConstTensorView& actual, const ConstTensorView& expected,
                        const Tolerance& tolerance) {
  Comparison result;
  result.expected_type = expected.type;
  VisitDataType(AllTypes(), actual.type, [&]<typename T>() {
    VisitDataType(AllTypes(), expected.type, [&]<typename E>() {
      reference::ForEachIndex(expected.layout.sizes, [&](const Dims& index) {
        const T a = reference::FromBits<T>(reference::BitsAt(actual, index));
        const E e = reference::FromBits<E>(reference::BitsAt(expected, index));
        const T nearest = Rounded<T>(e);
        const bool equal_bits = reference::ToBits(a) == reference::ToBits(nearest);
        Judge<T>(Measure(a, nearest, e, result.element_count), equal_bits, tolerance, result);
        result.actual_subnormals += IsTiny(a);
        result.expected_subnormals += IsTiny(e);
        ++result.element_count;
      });
    });
  });
  std::ranges::stable_sort(result.listed, std::greater(), &Difference::ulp_error);
  if (result.nan_mismatches + result.infinity_mismatches > 0) result.smallest_passing_ulp.reset();
  return result;
}

void ExpectSame(const Comparison& actual, const Comparison& expected) {
  const auto bits = [](double x) { return reference::ToBits(x); };
  EXPECT_EQ(actual.element_count, expected.element_count);
  EXPECT_EQ(actual.difference_count, expected.difference_count);
  EXPECT_EQ(actual.nan_mismatches, expected.nan_mismatches);
  EXPECT_EQ(actual.infinity_mismatches, expected.infinity_mismatches);
  for (const auto tally : {&Comparison::passing, &Comparison::failing}) {
    const ErrorTally& a = actual.*tally;
    const ErrorTally& e = expected.*tally;
    EXPECT_EQ(bits(a.max_absolute_error), bits(e.max_absolute_error));
    EXPECT_EQ(bits(a.max_relative_error), bits(e.max_relative_error));
    EXPECT_EQ(a.max_ulp_error, e.max_ulp_error);
    EXPECT_EQ(a.ulp_histogram, e.ulp_histogram);
  }
  EXPECT_EQ(actual.smallest_passing_ulp, expected.smallest_passing_ulp);
  EXPECT_EQ(bits(actual.most_used), bits(expected.most_used));
  EXPECT_EQ(actual.expected_type, expected.expected_type);
  EXPECT_EQ(actual.actual_subnormals, expected.actual_subnormals);
  EXPECT_EQ(actual.expected_subnormals, expected.expected_subnormals);
  ExpectSame(actual.first, expected.first);
  ExpectSame(actual.worst, expected.worst);
  ExpectSame(actual.worst_finite, expected.worst_finite);
  ASSERT_EQ(actual.listed.size(), std::min(actual.most_listed, expected.listed.size()));
  for (size_t i = 0; i < actual.listed.size(); ++i) {
    ExpectSame(std::optional(actual.listed[i]), std::optional(expected.listed[i]));
  }
}

}  // namespace dmlop
