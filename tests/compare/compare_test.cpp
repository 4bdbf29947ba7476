// SPDX-License-Identifier: Apache-2.0
// Comparisons with results computed by hand.

#include "core/compare/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/tensor/element.h"
#include "tests/compare/tensor_of.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/support/case_name.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();

template <typename T>
Comparison CompareValues(const std::vector<T>& actual, const std::vector<T>& expected,
                         const Tolerance& tolerance = {}) {
  return Compare(ViewOf(actual), ViewOf(expected), tolerance);
}

struct VerdictCase {
  std::string name;
  float actual;
  float expected;
  Tolerance tolerance;
  bool passes;
};

class Verdict : public testing::TestWithParam<VerdictCase> {};

TEST_P(Verdict, OfOneElement) {
  const VerdictCase& c = GetParam();
  const Comparison result = CompareValues<float>({c.actual}, {c.expected}, c.tolerance);
  EXPECT_EQ(result.passes(), c.passes);
  EXPECT_EQ(result.difference_count, c.passes ? 0 : 1);
}

const Tolerance kAnything = {.absolute = kInf, .relative = kInf, .ulp = UINT64_MAX};

INSTANTIATE_TEST_SUITE_P(
    Floats, Verdict,
    testing::ValuesIn(std::vector<VerdictCase>{
        {"EqualNumbers", 1.5f, 1.5f, {}, true},
        {"Neighbours", 1.0f, std::nextafter(1.0f, 2.0f), {}, false},
        {"TwoZeros", -0.0f, 0.0f, {}, true},
        {"TwoNans", kNan, -kNan, {}, true},
        {"TwoInfinities", kInf, kInf, {}, true},
        {"BitsOfEqualNumbers", 1.5f, 1.5f, {.bits = true}, true},
        {"BitsOfTwoZeros", -0.0f, 0.0f, {.bits = true}, false},
        {"BitsOfTwoNans", kNan, -kNan, {.bits = true}, false},
        {"BitsAreStricterThanTolerance", 1, 2, {.absolute = 9, .ulp = 99, .bits = true}, false},
        {"AbsoluteReaches", 1.25f, 1.0f, {.absolute = 0.25}, true},
        {"AbsoluteFallsShort", 1.25f, 1.0f, {.absolute = 0.2499}, false},
        {"RelativeReaches", 10.0f, 8.0f, {.relative = 0.25}, true},
        {"RelativeIsOfExpected", 8.0f, 10.0f, {.relative = 0.1999}, false},
        {"RelativeOfZero", kLeast, 0.0f, {.relative = 1e30}, false},
        {"AbsoluteAndRelativeAdd", 11.0f, 8.0f, {.absolute = 1.0, .relative = 0.25}, true},
        {"UlpReaches", -kLeast, kLeast, {.ulp = 2}, true},
        {"UlpFallsShort", -kLeast, kLeast, {.ulp = 1}, false},
        {"AnyToleranceIsEnough", 1.0f, 2.0f, {.absolute = 1.0, .ulp = 1}, true},
        {"LargestAndItsOpposite", -kMax, kMax, kAnything, true},
        {"NanAgainstNumber", kNan, 1.0f, kAnything, false},
        {"NumberAgainstNan", 1.0f, kNan, kAnything, false},
        {"NanAgainstInfinity", kNan, kInf, kAnything, false},
        {"InfinityAgainstLargest", kInf, kMax, kAnything, false},
        {"LargestAgainstInfinity", kMax, kInf, kAnything, false},
        {"OppositeInfinities", -kInf, kInf, kAnything, false},
    }),
    CaseName<VerdictCase>);

TEST(Compare, ReportsFirstWorstAndMaxima) {
  const Comparison result =
      CompareValues<float>({1.0f, 2.5f, -8.0f, 0.0f}, {1.0f, 2.0f, 8.0f, 0.0f});
  EXPECT_EQ(result.element_count, 4);
  EXPECT_EQ(result.difference_count, 2);
  EXPECT_EQ(result.first->index, 1);
  EXPECT_EQ(result.first->actual, 2.5);
  EXPECT_EQ(result.first->expected, 2.0);
  EXPECT_EQ(result.first->actual_bits, 0x40200000u);
  EXPECT_EQ(result.first->expected_bits, 0x40000000u);
  EXPECT_EQ(result.first->absolute_error, 0.5);
  EXPECT_EQ(result.first->relative_error, 0.25);
  EXPECT_EQ(result.first->ulp_error, 0x200000u);
  EXPECT_EQ(result.worst->index, 2);
  EXPECT_EQ(result.worst->ulp_error, 2u * 0x41000000u);
  EXPECT_EQ(result.decisive().max_absolute_error, 16.0);
  EXPECT_EQ(result.decisive().max_relative_error, 2.0);
  EXPECT_EQ(result.decisive().max_ulp_error, 2u * 0x41000000u);
  EXPECT_EQ(result.smallest_passing_ulp, 2u * 0x41000000u);
}

TEST(Compare, MismatchesAreWorseThanNumbersAndCountedApart) {
  const Comparison result = CompareValues<float>({-kMax, 1.0f, kNan, kInf, kInf, kNan},
                                                 {kMax, kNan, kInf, 1.0f, -kInf, kNan});
  EXPECT_EQ(result.difference_count, 5);
  EXPECT_EQ(result.nan_mismatches, 2);
  EXPECT_EQ(result.infinity_mismatches, 2);
  EXPECT_EQ(result.first->index, 0);
  EXPECT_FALSE(result.first->is_mismatch);
  EXPECT_EQ(result.worst->index, 1);
  EXPECT_TRUE(result.worst->is_mismatch);
  EXPECT_EQ(result.worst->absolute_error, kInf);
  EXPECT_EQ(result.decisive().max_ulp_error, 2u * 0x7F7FFFFFu);
  EXPECT_EQ(result.smallest_passing_ulp, std::nullopt);
}

TEST(Compare, MaximaCountElementsThatPassWhereAllDo) {
  const Comparison result = CompareValues<int32_t>({1, 20}, {4, 25}, {.absolute = 10.0});
  EXPECT_TRUE(result.passes());
  EXPECT_EQ(result.decisive().max_absolute_error, 5.0);
  EXPECT_EQ(result.decisive().max_relative_error, 0.75);
  EXPECT_EQ(result.smallest_passing_ulp, 0u);
}

TEST(Compare, MaximaCountElementsThatFailWhereSomeDo) {
  const Comparison result = CompareValues<float>({-1e-7f, 1.5f, 2.0f}, {1e-30f, 1.0f, 2.0f},
                                                 {.absolute = 1e-6, .relative = 1e-3});
  EXPECT_EQ(result.difference_count, 1);
  EXPECT_EQ(result.decisive().max_absolute_error, 0.5);
  EXPECT_EQ(result.decisive().max_relative_error, 0.5);
  EXPECT_EQ(result.decisive().max_ulp_error, 1u << 22);
  EXPECT_EQ(result.passing.max_relative_error, (double{1e-7f} + double{1e-30f}) / double{1e-30f});
}

struct UsedCase {
  std::string name;
  std::vector<float> actual;  // compared with {8, 0, 1}
  Tolerance tolerance;
  double most_used;
};

class MostUsed : public testing::TestWithParam<UsedCase> {};

TEST_P(MostUsed, IsThatOfTheElementNearestToItsLimit) {
  const UsedCase& c = GetParam();
  const Comparison result = CompareValues<float>(c.actual, {8, 0, 1}, c.tolerance);
  EXPECT_DOUBLE_EQ(result.most_used, c.most_used);
}

INSTANTIATE_TEST_SUITE_P(
    Of, MostUsed,
    testing::ValuesIn(std::vector<UsedCase>{
        {"EqualElements", {8, -0.0f, 1}, {}, 0},
        {"NoTolerance", {8, 0, 2}, {}, kInf},
        {"BothSummands", {9, 0, 1}, {.absolute = 1, .relative = 0.125}, 0.5},
        {"SummandsOfAnotherElement", {9, 0.75f, 1}, {.absolute = 1, .relative = 0.125}, 0.75},
        {"AnErrorBeyond", {12, 0, 1}, {.absolute = 1, .relative = 0.125}, 2},
        {"UlpAlone", {8, 0, 1 + 0x1p-22f}, {.ulp = 8}, 0.25},
        {"WhicheverRuleHelps", {9, 0, 1 + 0x1p-22f}, {.absolute = 4, .ulp = 8}, 0.25},
        {"AnotherRuleForEachElement", {8, 3, 1 + 0x1p-22f}, {.absolute = 4, .ulp = 8}, 0.75},
        {"AnInfiniteLimit", {9, 0, 1}, {.relative = kInf}, 0},
        {"ALimitOfNothing", {8, 1, 1}, {.relative = 0.5}, kInf},
    }),
    CaseName<UsedCase>);

// The expected value is more precise than the actual type.
struct MixedCase {
  std::string name;
  float actual;
  double expected;
  Tolerance tolerance;
  bool passes;
  uint64_t ulp;
  double absolute;
};

class OtherFloats : public testing::TestWithParam<MixedCase> {};

TEST_P(OtherFloats, AreComparedByValue) {
  const MixedCase& c = GetParam();
  const std::vector<float> actual = {c.actual};
  const std::vector<double> expected = {c.expected};
  const Comparison result = Compare(ViewOf(actual), ViewOf(expected), c.tolerance);
  EXPECT_EQ(result.passes(), c.passes);
  EXPECT_EQ(result.decisive().max_ulp_error, c.ulp);
  EXPECT_EQ(result.decisive().max_absolute_error, c.absolute);
  EXPECT_EQ(result.expected_type, DataType::kFloat64);
}

INSTANTIATE_TEST_SUITE_P(
    Floats, OtherFloats,
    testing::ValuesIn(std::vector<MixedCase>{
        {"Equal", 1.5f, 1.5, {}, true, 0, 0},
        {"TheNearest", 1, 1 + 0x1p-25, {}, true, 0, 0x1p-25},
        {"NotTheNearest", 1, 1 + 0x1.8p-24, {}, false, 1, 0x1.8p-24},
        {"WithinUlp", 1, 1 + 0x1.8p-24, {.ulp = 1}, true, 1, 0x1.8p-24},
        {"WithinAbsolute", 1, 1 + 0x1.8p-24, {.absolute = 0x1.8p-24}, true, 1, 0x1.8p-24},
        {"BeyondAbsolute", 1, 1 + 0x1.8p-24, {.absolute = 0x1.7p-24}, false, 1, 0x1.8p-24},
        {"BitsOfTheNearest", 1, 1 + 0x1p-25, {.bits = true}, true, 0, 0x1p-25},
        {"BeyondTheLargest", kInf, 1e300, {}, true, 0, 0},
        {"LargestForMore", kMax, 1e300, kAnything, false, 0, 0},
        {"TwoNans", kNan, -double{kNan}, {}, true, 0, 0},
        {"NanAgainstNumber", kNan, 1, kAnything, false, 0, 0},
    }),
    CaseName<MixedCase>);

TEST(Compare, CountsSubnormalsOnBothSides) {
  for (const size_t length : {3u, 300u}) {
    std::vector<float> expected(length, 1.0f);
    std::vector<float> actual = expected;
    expected[0] = expected[2] = kLeast;
    actual[0] = -kLeast;
    actual[1] = std::numeric_limits<float>::min();
    actual[2] = 0;
    const Comparison result = CompareValues(actual, expected);
    EXPECT_EQ(result.actual_subnormals, 1);
    EXPECT_EQ(result.expected_subnormals, 2);
  }
}

TEST(Compare, SmallestPassingUlpLeavesOtherTolerancesAsTheyAre) {
  const std::vector<float> expected = {0.0f, 1.0f};
  const std::vector<float> actual = {1e-20f, 1.0f + 0x1p-22f};
  const Comparison result = CompareValues(actual, expected, {.absolute = 1e-10});
  EXPECT_EQ(result.smallest_passing_ulp, 2u);
  EXPECT_TRUE(CompareValues(actual, expected, {.absolute = 1e-10, .ulp = 2}).passes());
  EXPECT_FALSE(CompareValues(actual, expected, {.absolute = 1e-10, .ulp = 1}).passes());
}

TEST(Compare, IntegersAreExactAtTheirExtremes) {
  const Comparison far = CompareValues<int64_t>({kMin64}, {kMax64});
  EXPECT_EQ(far.worst->ulp_error, UINT64_MAX);
  EXPECT_FALSE(far.worst->is_mismatch);
  EXPECT_EQ(far.smallest_passing_ulp, UINT64_MAX);
  EXPECT_EQ(far.failing.ulp_histogram.back(), 1);
  EXPECT_EQ(CompareValues<uint64_t>({0}, {UINT64_MAX}).decisive().max_ulp_error, UINT64_MAX);
  EXPECT_EQ(CompareValues<int8_t>({-128}, {127}).decisive().max_ulp_error, 255u);
  EXPECT_EQ(CompareValues<uint8_t>({255}, {0}).decisive().max_absolute_error, 255.0);
  EXPECT_EQ(CompareValues<int16_t>({-32768}, {32767}).decisive().max_ulp_error, 65535u);
  EXPECT_EQ(CompareValues<uint16_t>({1}, {3}).decisive().max_ulp_error, 2u);
  EXPECT_EQ(CompareValues<uint32_t>({0}, {UINT32_MAX}).decisive().max_ulp_error, UINT32_MAX);
}

TEST(Compare, NeighboursThatRoundToOneDoubleDiffer) {
  EXPECT_FALSE(CompareValues<int64_t>({kMax64}, {kMax64 - 1}).passes());
  EXPECT_TRUE(CompareValues<int64_t>({kMax64}, {kMax64 - 1}, {.absolute = 1.0}).passes());
  // The error, 2^53 + 1, rounds to the tolerance.
  const Tolerance tolerance = {.absolute = 0x1p53};
  EXPECT_FALSE(CompareValues<int64_t>({(int64_t{1} << 53) + 1}, {0}, tolerance).passes());
}

TEST(Compare, DifferencesThatOverflowAreNoMismatch) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  const Comparison result = CompareValues<double>({-kLargest}, {kLargest});
  EXPECT_EQ(result.decisive().max_absolute_error, kInf);
  EXPECT_FALSE(result.worst->is_mismatch);
  EXPECT_EQ(result.smallest_passing_ulp, 2 * ElementBits(kLargest));
}

TEST(Compare, DifferentBitsOfOneValueHaveNoError) {
  const Comparison result = CompareValues<float>({-0.0f, kNan}, {0.0f, -kNan}, {.bits = true});
  EXPECT_EQ(result.difference_count, 2);
  EXPECT_EQ(result.nan_mismatches, 0);
  EXPECT_EQ(result.worst->index, 0);
  EXPECT_EQ(result.worst->ulp_error, 0u);
  EXPECT_EQ(result.worst->relative_error, 0.0);
  EXPECT_EQ(result.worst->actual_bits, 0x80000000u);
  EXPECT_EQ(result.smallest_passing_ulp, 0u);
}

TEST(Compare, NothingEqualsNothing) {
  const Comparison result = CompareValues<float>({}, {});
  EXPECT_TRUE(result.passes());
  EXPECT_EQ(result.element_count, 0);
  EXPECT_EQ(result.smallest_passing_ulp, 0u);
}

TEST(Compare, TensorOfNoDimensionsHasOneElement) {
  const double one = 1.0;
  const double two = 2.0;
  const ConstTensorView actual{reinterpret_cast<const std::byte*>(&one), DataType::kFloat64, {}};
  const ConstTensorView expected{reinterpret_cast<const std::byte*>(&two), DataType::kFloat64, {}};
  EXPECT_EQ(Compare(actual, expected, {}).difference_count, 1);
}

TEST(Compare, IndexIsRowMajorInAnyLayout) {
  const std::vector<int32_t> expected = {0, 1, 2, 3, 4, 5};
  const std::vector<int32_t> actual = {0, 3, 7, 4, 2, 5};  // column-major, with 7 for 1
  ConstTensorView rows = ViewOf(expected);
  ConstTensorView columns = ViewOf(actual);
  rows.layout = PackedLayout({2, 3});
  columns.layout = {{2, 3}, FortranStrides({2, 3})};
  EXPECT_EQ(Compare(columns, rows, {}).first->index, 1);
  EXPECT_EQ(Compare(rows, columns, {}).worst->index, 1);
  EXPECT_EQ(Compare(rows, columns, {}).difference_count, 1);
}

TEST(Compare, FindsOneDifferenceAnywhere) {
  const std::vector<uint8_t> expected(20000, 1);
  for (const size_t at : {0u, 1u, 4095u, 4096u, 8191u, 12345u, 19999u}) {
    std::vector<uint8_t> actual = expected;
    actual[at] = 2;
    const Comparison result = CompareValues(actual, expected);
    EXPECT_EQ(result.difference_count, 1);
    EXPECT_EQ(result.first->index, static_cast<int64_t>(at));
    EXPECT_EQ(result.passing.ulp_histogram[0], 19999);
    EXPECT_EQ(result.failing.ulp_histogram[1], 1);
  }
}

TEST(Compare, IndexIsRowMajorFarDownAColumn) {
  constexpr int64_t kRows = 9000;
  const std::vector<uint8_t> expected(2 * kRows, 1);
  std::vector<uint8_t> actual = expected;
  actual[kRows + 8000] = 2;  // row 8000, column 1
  ConstTensorView a = ViewOf(actual);
  ConstTensorView e = ViewOf(expected);
  a.layout = e.layout = {{kRows, 2}, FortranStrides({kRows, 2})};
  EXPECT_EQ(Compare(a, e, {}).first->index, 2 * 8000 + 1);
}

TEST(UlpBin, HoldsPowersOfTwo) {
  const uint64_t errors[] = {0, 1, 2, 3, 4, 5, 8, 9, uint64_t{1} << 63, UINT64_MAX};
  const size_t bins[] = {0, 1, 2, 3, 3, 4, 4, 5, 64, 65};
  for (size_t i = 0; i < std::size(errors); ++i) EXPECT_EQ(UlpBin(errors[i]), bins[i]);
}

TEST(UlpDistance, IsThePlaceAmongSortedHalfValues) {
  std::vector<Half> values;
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    if (std::isfinite(ToFloat(half)) && bits != 0x8000) values.push_back(half);
  }
  std::ranges::sort(values, {}, ToFloat);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(UlpDistance(values[i], values.front()), i);
    EXPECT_EQ(UlpDistance(values[values.size() / 3], values[i]),
              i < values.size() / 3 ? values.size() / 3 - i : i - values.size() / 3);
  }
}

TEST(UlpDistance, CrossesZeroOnce) {
  EXPECT_EQ(UlpDistance(-0.0f, 0.0f), 0u);
  EXPECT_EQ(UlpDistance(-0.0f, kLeast), 1u);
  EXPECT_EQ(UlpDistance(kLeast, -kLeast), 2u);
  EXPECT_EQ(UlpDistance(Half{0x8001}, Half{0x0001}), 2u);
  EXPECT_EQ(UlpDistance(-0x1p-1074, 0x1p-1074), 2u);
  EXPECT_EQ(UlpDistance(-1.0, 1.0), 2 * UlpDistance(0.0, 1.0));
  EXPECT_EQ(UlpDistance(-3, 4), 7u);
}

}  // namespace
}  // namespace dmlop
