// SPDX-License-Identifier: Apache-2.0
#include "core/exact/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "tests/support/float_families.h"

namespace dmlop {
namespace {

constexpr double kLeastTerm = 0x1p-298;
constexpr double kLargestTerm = 0x1.fffffffffffffp+256;

ExactSum SumOf(const std::vector<double>& terms) {
  ExactSum sum;
  for (double term : terms) sum.Add(term);
  return sum;
}

ExactSum Doubled(double term, int times) {
  ExactSum sum;
  sum.Add(term);
  for (int i = 0; i < times; ++i) sum.Merge(sum);
  return sum;
}

std::vector<double> RandomTerms(Engine& engine, size_t count) {
  std::vector<double> terms;
  for (size_t i = 0; i < count; ++i) {
    const FloatFamily& family = kFamilies[i % std::size(kFamilies)];
    terms.push_back(Draw<float>(family, engine));
  }
  return terms;
}

bool SameValue(const ExactSum& a, const ExactSum& b) {
  const SignMagnitude left = a.ToSignMagnitude();
  const SignMagnitude right = b.ToSignMagnitude();
  return left.negative == right.negative && left.digits == right.digits;
}

TEST(ExactSum, SignIsThatOfTheWholeSum) {
  EXPECT_EQ(SumOf({}).Sign(), 0);
  EXPECT_EQ(SumOf({0.0, -0.0}).Sign(), 0);
  EXPECT_EQ(SumOf({kLeastTerm}).Sign(), 1);
  EXPECT_EQ(SumOf({-kLeastTerm}).Sign(), -1);
  EXPECT_EQ(SumOf({kLargestTerm, -kLeastTerm, -kLargestTerm}).Sign(), -1);
  EXPECT_EQ(SumOf({-kLargestTerm, kLeastTerm, kLargestTerm}).Sign(), 1);
  EXPECT_EQ(SumOf({1e8, 1e-8, -1e8, -1e-8}).Sign(), 0);
}

TEST(ExactSum, DropsWhatIsBelowTheLeastTerm) {
  EXPECT_EQ(SumOf({0x1.fffffffffffffp-299}).Sign(), 0);
  EXPECT_EQ(SumOf({-0x1p-1074}).Sign(), 0);
}

TEST(ExactSum, OrderAndGroupingDoNotMatter) {
  Engine engine = TestEngine();
  for (int round = 0; round < 200; ++round) {
    std::vector<double> terms = RandomTerms(engine, 60);
    const ExactSum expected = SumOf(terms);
    std::shuffle(terms.begin(), terms.end(), engine);
    const auto middle = terms.begin() + UniformInt(engine, 0, 60);
    ExactSum merged = SumOf({terms.begin(), middle});
    merged.Merge(SumOf({middle, terms.end()}));
    ASSERT_TRUE(SameValue(expected, merged));
  }
}

TEST(ExactSum, HoldsTheMostTermsOfTheLargestMagnitude) {
  for (double sign : {1.0, -1.0}) {
    ExactSum sum = Doubled(sign * kLargestTerm, 33);
    EXPECT_EQ(RoundSum<double>(sum), sign * kLargestTerm * 0x1p33);
    sum.Merge(Doubled(-sign * kLargestTerm, 33));
    EXPECT_EQ(sum.Sign(), 0);
  }
}

// Every part gets its largest payload 2^33 times, with carries moved in between.
TEST(ExactSum, CarriesSurviveMoreTermsThanAPartCanCollect) {
  const double all_ones = 0x1.fffffffffffffp+0;
  for (int exponent = -298; exponent <= 256; ++exponent) {
    const double term = std::ldexp(all_ones, exponent);
    EXPECT_EQ(RoundSum<double>(Doubled(term, 33)), term * 0x1p33) << exponent;
    EXPECT_EQ(RoundSum<double>(Doubled(-term, 33)), -term * 0x1p33) << exponent;
  }
}

// Add must move the carries itself when the doubled sum is one term short of the limit.
TEST(ExactSum, AddMovesCarriesAtTheLimit) {
  for (const double term : {0x1.fffffffffffffp+21, -0x1.fffffffffffffp+21}) {  // highest in a part
    ExactSum sum;
    for (int bit = 0; bit < 11; ++bit) {
      sum.Merge(sum);
      if (bit < 10) sum.Add(term);
    }
    // So far there are 2^11 - 2 terms.
    for (int i = 0; i < 6; ++i) sum.Add(term);
    Real expected(term);
    mpfr_mul_d(expected.get(), expected.get(), 0x1p11 + 4, MPFR_RNDN);
    EXPECT_EQ(RoundSum<double>(sum), RoundReal<double>(expected));
  }
}

TEST(SumOfParts, IsWithinItsBound) {
  Engine engine = TestEngine();
  for (int round = 0; round < 5000; ++round) {
    std::vector<double> parts = RandomTerms(engine, static_cast<size_t>(UniformInt(engine, 1, 15)));
    if (OneIn(engine, 3)) parts.push_back(-parts.front());
    std::sort(parts.begin(), parts.end(),
              [](double a, double b) { return std::fabs(a) > std::fabs(b); });
    ExactSum rest = SumOf(parts);
    const BoundedSum sum = SumOfParts(parts);
    EXPECT_LE(sum.bound, std::fabs(sum.sum.tail) * 0x1p-39);
    EXPECT_EQ(sum.sum.head + sum.sum.tail, sum.sum.head);
    rest.Add(-sum.sum.head);
    rest.Add(-sum.sum.tail);
    EXPECT_LE(std::fabs(RoundSum<double>(rest)), sum.bound);
  }
}

}  // namespace
}  // namespace dmlop
