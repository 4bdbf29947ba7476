// SPDX-License-Identifier: Apache-2.0
#include "core/exact/rounding.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/integers.h"
#include "core/exact/dyadic.h"
#include "core/exact/exact_sum.h"
#include "tests/support/case_name.h"
#include "tests/support/float_families.h"

namespace dmlop {
namespace {

// The same sum in the accumulator and in the oracle.
struct SumPair {
  ExactSum actual;
  Real expected;

  void Add(double term) {
    actual.Add(term);
    mpfr_add_d(expected.get(), expected.get(), term, MPFR_RNDN);
  }
};

template <typename T>
void ExpectRoundedSum(const SumPair& sum) {
  const T expected = RoundReal<T>(sum.expected);
  EXPECT_EQ(BitsOf(RoundSum<T>(sum.actual)), BitsOf(expected)) << ToDouble(expected);
  if constexpr (!std::is_same_v<T, double>) {
    EXPECT_EQ(BitsOf(RoundExact<T>(Dyadic(sum.actual))), BitsOf(expected)) << ToDouble(expected);
  }
}

template <typename T>
void ExpectRoundedQuotient(const SumPair& sum, uint64_t divisor) {
  Real quotient = sum.expected;
  mpfr_prec_round(quotient.get(), 1600, MPFR_RNDN);
  mpfr_div_d(quotient.get(), quotient.get(), static_cast<double>(divisor), MPFR_RNDN);
  const T expected = RoundReal<T>(quotient);
  EXPECT_EQ(BitsOf(RoundQuotient<T>(sum.actual, divisor)), BitsOf(expected))
      << ToDouble(expected) << " / " << divisor;
  EXPECT_EQ(BitsOf(RoundRatio<T>(Dyadic(sum.actual), Dyadic(divisor))), BitsOf(expected))
      << ToDouble(expected) << " / " << divisor;
}

template <typename T>
void ExpectRoundedSquareRoot(const SumPair& sum) {
  Real root = sum.expected;
  mpfr_prec_round(root.get(), 1600, MPFR_RNDN);
  mpfr_sqrt(root.get(), root.get(), MPFR_RNDN);
  const T expected = RoundReal<T>(root);
  EXPECT_EQ(BitsOf(RoundSquareRoot<T>(sum.actual)), BitsOf(expected)) << ToDouble(expected);
}

uint64_t RandomDivisor(Engine& engine) {
  return (uint64_t{1} << 33) - (engine() >> UniformInt(engine, 31, 63)) % (uint64_t{1} << 33);
}

template <typename T>
class RoundingTest : public testing::Test {
 protected:
  Engine engine_ = TestEngine();
};

using NarrowTypes = testing::Types<Half, float>;
TYPED_TEST_SUITE(RoundingTest, NarrowTypes);

TYPED_TEST(RoundingTest, RandomSumsAndAverages) {
  for (const FloatFamily& family : kFamilies) {
    SCOPED_TRACE(family.name);
    for (int round = 0; round < 1000; ++round) {
      SumPair sum;
      const int count = UniformInt(this->engine_, 1, 40);
      for (int i = 0; i < count; ++i) sum.Add(Draw<TypeParam>(family, this->engine_));
      ExpectRoundedSum<TypeParam>(sum);
      ExpectRoundedSum<double>(sum);
      ExpectRoundedQuotient<TypeParam>(sum, static_cast<uint64_t>(count));
      ExpectRoundedQuotient<TypeParam>(sum, RandomDivisor(this->engine_));
    }
  }
}

TYPED_TEST(RoundingTest, RandomSquareRoots) {
  for (const FloatFamily& family : kFamilies) {
    SCOPED_TRACE(family.name);
    for (int round = 0; round < 1000; ++round) {
      SumPair sum;
      const int count = UniformInt(this->engine_, 1, 20);
      for (int i = 0; i < count; ++i) {
        const double value = Draw<TypeParam>(family, this->engine_);
        sum.Add(value * value);
      }
      ExpectRoundedSquareRoot<TypeParam>(sum);
    }
  }
}

TYPED_TEST(RoundingTest, TiesOfSumsAndTheirNeighbours) {
  for (int round = 0; round < 2000; ++round) {
    const double tie = WithRandomSign(this->engine_, RandomMidpoint<TypeParam>(this->engine_));
    const double noise = Draw<TypeParam>(kFamilies[3], this->engine_);
    for (double delta : {0.0, 0x1p-298, -0x1p-298}) {
      SumPair sum;
      for (double term : {noise, tie, delta, -noise}) sum.Add(term);
      ExpectRoundedSum<TypeParam>(sum);
    }
  }
}

TYPED_TEST(RoundingTest, TiesOfAveragesAndTheirNeighbours) {
  for (int round = 0; round < 2000; ++round) {
    const double tie = WithRandomSign(this->engine_, RandomMidpoint<TypeParam>(this->engine_));
    const uint64_t divisor = RandomDivisor(this->engine_);
    for (double delta : {0.0, 0x1p-149, -0x1p-149}) {
      SumPair sum;
      // Added in two parts, so that each product is exact.
      sum.Add(tie * static_cast<double>(divisor & 0xFFFF));
      sum.Add(tie * static_cast<double>(divisor & ~uint64_t{0xFFFF}));
      sum.Add(delta);
      ExpectRoundedQuotient<TypeParam>(sum, divisor);
    }
  }
}

TYPED_TEST(RoundingTest, TiesOfSquareRootsAndTheirNeighbours) {
  for (int round = 0; round < 2000; ++round) {
    const double tie = RandomMidpoint<TypeParam>(this->engine_);
    const double root = ToDouble(FromDouble<TypeParam>(tie));
    for (double exact : {tie, std::isinf(root) ? tie : root}) {
      const double square = exact * exact;
      std::vector<double> deltas = {0.0};
      if (exact > 0.0) deltas = {0.0, 0x1p-298, -0x1p-298};
      for (int place = 60; place < 68 && square > 0x1p-200; ++place) {
        deltas.push_back(std::ldexp(1.0, std::ilogb(square) - place));
      }
      for (double delta : deltas) {
        SumPair sum;
        sum.Add(square);
        sum.Add(delta);
        ExpectRoundedSquareRoot<TypeParam>(sum);
      }
    }
  }
}

TYPED_TEST(RoundingTest, HeadAndTailRoundAsOne) {
  for (int round = 0; round < 20000; ++round) {
    const double tie = RandomMidpoint<TypeParam>(this->engine_);
    const double magnitude = std::nextafter(tie, UniformInt(this->engine_, 0, 1) * 2.0 * tie);
    const double head =
        RandomSign(this->engine_) * (UniformInt(this->engine_, 0, 1) == 0 ? tie : magnitude);
    const double half_place = std::ldexp(1.0, std::ilogb(head) - 53);
    for (double part : {0.0, 0x1p-40, 0.7, 1.0}) {
      const double tail = RandomSign(this->engine_) * part * half_place;
      Real sum(head);
      mpfr_add_d(sum.get(), sum.get(), tail, MPFR_RNDN);
      EXPECT_EQ(BitsOf(RoundOnce<TypeParam>(head, tail)), BitsOf(RoundReal<TypeParam>(sum)))
          << head << " + " << tail;
    }
  }
}

// Both ends of a bound that ends at a tie, or goes on beyond it.
TYPED_TEST(RoundingTest, BoundsDecideUnlessATieIsWithin) {
  for (int round = 0; round < 20000; ++round) {
    const double tie = RandomSign(this->engine_) * RandomMidpoint<TypeParam>(this->engine_);
    const double unit = std::ldexp(1.0, std::ilogb(tie) - UniformInt(this->engine_, 53, 80));
    const TypeParam expected = RoundOnce<TypeParam>(tie, unit);
    const auto clear = RoundWithin<TypeParam>({tie, unit}, 0.9 * unit);
    ASSERT_TRUE(clear) << tie << " + " << unit;
    EXPECT_EQ(BitsOf(*clear), BitsOf(expected));
    EXPECT_FALSE(RoundWithin<TypeParam>({tie, unit}, 1.1 * unit)) << tie << " + " << unit;
    const auto exact = RoundWithin<TypeParam>({tie, 0}, 0);
    ASSERT_TRUE(exact);
    EXPECT_EQ(BitsOf(*exact), BitsOf(RoundOnce<TypeParam>(tie)));
  }
  EXPECT_EQ(BitsOf(*RoundWithin<TypeParam>({-0.0, 0}, 0)), BitsOf(RoundOnce<TypeParam>(-0.0)));
  EXPECT_FALSE(RoundWithin<TypeParam>({0, 0}, 1e-300));
}

// Integers of 128 bits as the oracle: scales that are small integers.
TEST(Requantize, RoundsOnceForDivisorsOfAnySize) {
  Engine engine = TestEngine();
  const QuantizedRange range{3, -100, 100};
  for (int round = 0; round < 200000; ++round) {
    const int64_t a = UniformInt(engine, 1, 9), b = UniformInt(engine, 1, 9);
    const int64_t c = UniformInt(engine, -9, 9) | 1;
    const Int128 divisor = Int128{1 + UniformInt(engine, 0, 40)} << UniformInt(engine, 0, 30);
    // Near a number of halves.
    const Int128 halves = divisor * c * UniformInt(engine, -250, 250) / (2 * a * b);
    const Int128 numerator = (halves + UniformInt(engine, -1, 1)) * a * b;
    const int64_t sum = static_cast<int64_t>(numerator / (a * b));
    const Int128 twice = 2 * numerator * (c < 0 ? -1 : 1), whole = divisor * (c < 0 ? -c : c);
    Int128 rounded = twice / (2 * whole) - (twice % (2 * whole) < 0 ? 1 : 0);
    const Int128 rest = twice - 2 * whole * rounded;
    if (rest > whole || (rest == whole && rounded % 2 != 0)) ++rounded;
    const int64_t expected = std::clamp<int64_t>(static_cast<int64_t>(rounded) + 3, -100, 100);
    const UnitChange units{static_cast<double>(a), static_cast<double>(b), static_cast<double>(c),
                           divisor};
    ASSERT_EQ(Requantize(sum, units, range), expected) << sum << " * " << a * b << " / " << c;
  }
}

struct TermsCase {
  std::vector<double> terms;
  double sum;
};

TEST(SpecialTerms, AddAsIeeeArithmeticDoes) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const TermsCase cases[] = {
      {{}, 0.0},
      {{-0.0}, -0.0},
      {{-0.0, -0.0}, -0.0},
      {{-0.0, 0.0}, 0.0},
      {{0.0, -0.0}, 0.0},
      {{1, -0.0}, 0.0},
      {{-0.0, 2}, 0.0},
      {{infinity, 1}, infinity},
      {{-0.0, -infinity}, -infinity},
      {{nan, infinity}, nan},
      {{infinity, -infinity}, nan},
  };
  for (const TermsCase& c : cases) {
    SpecialTerms specials;
    int others = 0;
    for (const double term : c.terms) others += specials.Take(term) ? 0 : 1;
    EXPECT_EQ(BitsOf(RoundOnce<float>(specials.sum())), BitsOf(RoundOnce<float>(c.sum)));
    EXPECT_EQ(specials.are_finite(), std::isfinite(c.sum));
    EXPECT_EQ(specials.has_others(), others > 0);
  }
}

struct SumCase {
  const char* name;
  std::vector<double> terms;
  uint32_t float_bits;
  uint16_t half_bits;
};

const SumCase kSumCases[] = {
    {"Empty", {}, 0, 0},
    {"OnlyNegativeZeros", {-0.0, -0.0}, 0, 0},
    {"Cancelled", {1.0, -1.0}, 0, 0},
    {"LargestHalf", {65504.0}, 0x477FE000, 0x7BFF},
    {"BelowHalfOverflow", {65504.0, 16.0, -0x1p-298}, 0x477FF000, 0x7BFF},
    {"AtHalfOverflow", {65504.0, 16.0}, 0x477FF000, 0x7C00},
    {"LargestFloat", {FLT_MAX}, 0x7F7FFFFF, 0x7C00},
    {"BelowFloatOverflow", {FLT_MAX, 0x1p103, -0x1p-298}, 0x7F7FFFFF, 0x7C00},
    {"AtFloatOverflow", {FLT_MAX, 0x1p103}, 0x7F800000, 0x7C00},
    {"NegativeOverflow", {-FLT_MAX, -0x1p103}, 0xFF800000, 0xFC00},
    {"BackFromOverflow", {FLT_MAX, FLT_MAX, -FLT_MAX}, 0x7F7FFFFF, 0x7C00},
    {"LeastFloat", {0x1p-149}, 0x00000001, 0x0000},
    {"HalfOfLeastFloat", {0x1p-150}, 0x00000000, 0x0000},
    {"MoreThanHalfOfLeastFloat", {0x1p-150, 0x1p-298}, 0x00000001, 0x0000},
    {"NegativeUnderflow", {-0x1p-298}, 0x80000000, 0x8000},
    {"LeastHalf", {0x1p-24}, 0x33800000, 0x0001},
    {"HalfOfLeastHalf", {0x1p-25}, 0x33000000, 0x0000},
    {"LargestSubnormals", {0x1p-14, -0x1p-24}, 0x387FC000, 0x03FF},
    {"TieAndTheLastDigit",
     {1.0, 0x1p-24, 0x1p-11, 0x1.0000000000001p-298, -0x1p-298},
     0x3F801001,
     0x3C01},
    {"RoundsUpToNormal", {0x1p-126, -0x1p-150}, 0x00800000, 0x0000},
};

class SumCases : public testing::TestWithParam<SumCase> {};

TEST_P(SumCases, RoundToFloatAndHalf) {
  ExactSum sum;
  for (double term : GetParam().terms) sum.Add(term);
  EXPECT_EQ(BitsOf(RoundSum<float>(sum)), GetParam().float_bits);
  EXPECT_EQ(BitsOf(RoundSum<Half>(sum)), GetParam().half_bits);
}

INSTANTIATE_TEST_SUITE_P(Rounding, SumCases, testing::ValuesIn(kSumCases), CaseName<SumCase>);

TEST(Rounding, AverageOfTheMostTerms) {
  ExactSum sum;
  sum.Add(FLT_MAX);
  for (int i = 0; i < 33; ++i) sum.Merge(sum);
  EXPECT_EQ(RoundQuotient<float>(sum, uint64_t{1} << 33), FLT_MAX);
}

TEST(Rounding, LengthOfOneElementIsTheElement) {
  for (float value : {3e38f, FLT_MAX, FLT_MIN, 0x1p-149f, 0.0f, 1.0f / 3.0f}) {
    ExactSum sum;
    sum.Add(static_cast<double>(value) * static_cast<double>(value));
    EXPECT_EQ(BitsOf(RoundSquareRoot<float>(sum)), BitsOf(value));
  }
}

TEST(Rounding, SpecialHeadsIgnoreTheirTail) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(BitsOf(RoundOnce<float>(-nan, 0.0)), 0x7FC00000u);
  EXPECT_EQ(BitsOf(RoundOnce<Half>(-nan, 0.0)), 0x7E00u);
  EXPECT_EQ(BitsOf(RoundOnce<float>(infinity, nan)), 0x7F800000u);
  EXPECT_EQ(BitsOf(RoundOnce<Half>(-infinity, nan)), 0xFC00u);
  EXPECT_EQ(BitsOf(RoundOnce<float>(-0.0, 0.0)), 0x80000000u);
  EXPECT_EQ(BitsOf(RoundOnce<float>(-1e300, 1.0)), 0xFF800000u);
}

}  // namespace
}  // namespace dmlop
