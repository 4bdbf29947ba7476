#include "tests/compare/naive_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"

namespace dmlop {
namespace {

using Wide = __int128;  // the difference of any two integers of 64 bits

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

template <typename T>
Difference Measure(T actual, T expected, int64_t index) {
  Difference d;
  d.index = index;
  d.actual = Value(actual);
  d.expected = Value(expected);
  d.actual_bits = reference::ToBits(actual);
  d.expected_bits = reference::ToBits(expected);
  if (std::isnan(d.actual) && std::isnan(d.expected)) return d;
  if (!std::isfinite(d.actual) || !std::isfinite(d.expected)) {
    if (d.actual == d.expected) return d;
    d.is_mismatch = true;
    d.absolute_error = d.relative_error = std::numeric_limits<double>::infinity();
    d.ulp_error = Difference::kMismatchUlp;
    return d;
  }
  const Wide distance = Place(actual) - Place(expected);
  d.ulp_error = static_cast<uint64_t>(distance < 0 ? -distance : distance);
  if (d.ulp_error == 0) return d;
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

size_t NaiveBin(uint64_t ulp) {
  size_t bin = ulp == 0 ? 0 : 1;
  for (Wide limit = 1; ulp > limit; limit *= 2) ++bin;
  return bin;
}

template <typename T>
void Judge(const Difference& d, const Tolerance& tolerance, Comparison& result) {
  if (d.is_mismatch) {
    const bool has_nan = std::isnan(d.actual) || std::isnan(d.expected);
    ++(has_nan ? result.nan_mismatches : result.infinity_mismatches);
  } else {
    ++result.ulp_histogram[NaiveBin(d.ulp_error)];
    result.max_absolute_error = std::max(result.max_absolute_error, d.absolute_error);
    result.max_relative_error = std::max(result.max_relative_error, d.relative_error);
    result.max_ulp_error = std::max(result.max_ulp_error, d.ulp_error);
  }
  const bool close = IsClose<T>(d, tolerance);
  if (!close && result.smallest_passing_ulp) {
    result.smallest_passing_ulp = std::max(*result.smallest_passing_ulp, d.ulp_error);
  }
  const bool passes = tolerance.bits ? d.actual_bits == d.expected_bits
                                     : close || (!d.is_mismatch && d.ulp_error <= tolerance.ulp);
  if (passes) return;
  ++result.difference_count;
  if (!result.first) result.first = d;
  if (!result.worst || d.ulp_error > result.worst->ulp_error) result.worst = d;
  const bool is_finite = std::isfinite(d.actual) && std::isfinite(d.expected);
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
  VisitDataType(AllTypes(), expected.type, [&]<typename T>() {
    reference::ForEachIndex(expected.layout.sizes, [&](const Dims& index) {
      const T a = reference::FromBits<T>(reference::BitsAt(actual, index));
      const T e = reference::FromBits<T>(reference::BitsAt(expected, index));
      Judge<T>(Measure(a, e, result.element_count), tolerance, result);
      ++result.element_count;
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
  EXPECT_EQ(bits(actual.max_absolute_error), bits(expected.max_absolute_error));
  EXPECT_EQ(bits(actual.max_relative_error), bits(expected.max_relative_error));
  EXPECT_EQ(actual.max_ulp_error, expected.max_ulp_error);
  EXPECT_EQ(actual.smallest_passing_ulp, expected.smallest_passing_ulp);
  EXPECT_EQ(actual.ulp_histogram, expected.ulp_histogram);
  ExpectSame(actual.first, expected.first);
  ExpectSame(actual.worst, expected.worst);
  ExpectSame(actual.worst_finite, expected.worst_finite);
  ASSERT_EQ(actual.listed.size(), std::min(actual.most_listed, expected.listed.size()));
  for (size_t i = 0; i < actual.listed.size(); ++i) {
    ExpectSame(std::optional(actual.listed[i]), std::optional(expected.listed[i]));
  }
}

}  // namespace dmlop
