// SPDX-License-Identifier: Apache-2.0
#include "core/exact/elementary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "core/exact/rounding.h"
#include "tests/support/case_name.h"
#include "tests/support/float_families.h"

namespace dmlop {
namespace {

using MpfrFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

constexpr mpfr_prec_t kPrecision = 160;  // enough for the values of functions of one double

struct FunctionCase {
  const char* name;
  double (*actual)(double);
  MpfrFunction expected;
  double bound;  // in ULP
  double (*draw)(Engine&);
  std::vector<double> hard_arguments;
};

double NearOne(Engine& engine) {
  return 1.0 + WithRandomSign(engine, std::exp2(Uniform(engine, -53.0, -1.0)));
}

const FunctionCase kFunctionCases[] = {
    {"Exp",
     Exp,
     mpfr_exp,
     1.0,
     [](Engine& engine) { return Uniform(engine, -708.0, 709.0); },
     {-708.0, 709.0, 0.0, -0.0, 0x1p-1074, -0x1p-60, 0.34657359027997264, -0.34657359027997264}},
    {"ExpOfModerate",
     Exp,
     mpfr_exp,
     1.0,
     [](Engine& engine) { return Uniform(engine, -30.0, 1.0); },
     {-0.69314718055994531, 0.69314718055994531, 1.0, -1.0}},
    {"ExpNearZero",
     Exp,
     mpfr_exp,
     1.0,
     [](Engine& engine) { return WithRandomSign(engine, std::exp2(Uniform(engine, -60.0, 0.0))); },
     {}},
    {"Log",
     Log,
     mpfr_log,
     1.0,
     [](Engine& engine) { return std::exp2(Uniform(engine, -1022, 1023)); },
     {0x1p-1074, 0x1.8p-1060, 0x1p-1022, 0x1.fffffffffffffp+1023, 0.5, 2.0, 1.0,
      0.70710678118654746, 0.70710678118654757, 1.4142135623730949, 1.4142135623730951}},
    {"LogNearOne", Log, mpfr_log, 1.0, NearOne, {0x1.fffffffffffffp-1, 0x1.0000000000001p+0}},
    {"LogOfModerate",
     Log,
     mpfr_log,
     1.0,
     [](Engine& engine) { return Uniform(engine, 0.25, 4.0); },
     {}},
    {"Log1p",
     Log1p,
     mpfr_log1p,
     1.25,
     [](Engine& engine) { return Uniform(engine, -0.5, 0.5); },
     {-0.5, 0.5, 0.0}},
    {"Log1pNearZero",
     Log1p,
     mpfr_log1p,
     1.25,
     [](Engine& engine) {
       return WithRandomSign(engine, std::exp2(Uniform(engine, -320.0, -1.0)));
     },
     {0x1p-149, -0x1p-149, 0x1p-298, 0x1p-26, -0x1p-53}},
};

class Functions : public testing::TestWithParam<FunctionCase> {};

TEST_P(Functions, ErrorIsBelowTheBound) {
  const FunctionCase& function = GetParam();
  Engine engine = TestEngine();
  std::vector<double> arguments = function.hard_arguments;
  for (int i = 0; i < 40000; ++i) arguments.push_back(function.draw(engine));

  double worst = 0.0;
  for (double argument : arguments) {
    Real expected(argument, kPrecision);
    function.expected(expected.get(), expected.get(), MPFR_RNDN);
    const double error = UlpError(function.actual(argument), expected);
    ASSERT_LT(error, function.bound) << std::hexfloat << argument;
    worst = std::max(worst, error);
  }
  std::cout << function.name << ": worst error " << worst << " ULP\n";
}

INSTANTIATE_TEST_SUITE_P(Elementary, Functions, testing::ValuesIn(kFunctionCases),
                         CaseName<FunctionCase>);

// Bits of this implementation, so that a compiler or machine with different results is noticed.
TEST(Elementary, BitsAreTheSameEverywhere) {
  EXPECT_EQ(Exp(0.0), 1.0);
  EXPECT_EQ(Exp(-709.0), 0.0);
  EXPECT_EQ(Exp(-1e6), 0.0);
  EXPECT_EQ(BitsOf(Log(1.0)), 0u);
  EXPECT_EQ(BitsOf(Log1p(0.0)), 0u);
  uint64_t digest = 0;
  for (int i = 1; i <= 4000; ++i) {
    const double x = i * 0.17;
    for (double value : {Exp(-x), Exp(x), Log(x), Log1p(1 / (x + 2))}) {
      digest = digest * 0x9E3779B97F4A7C15u + BitsOf(value);
    }
  }
  EXPECT_EQ(digest, 0xA3F09A3AB2F7A31Eu);
}

template <typename T>
class LogarithmTest : public testing::Test {
 protected:
  Engine engine_ = TestEngine();
};

using NarrowTypes = testing::Types<Half, float>;
TYPED_TEST_SUITE(LogarithmTest, NarrowTypes);

// Expects the logarithm of a sum with bounds to be right whenever the bounds decide it, which those
// of two parts always do.
template <typename T>
void ExpectTheSameInBounds(std::vector<double> terms, T expected) {
  std::sort(terms.begin(), terms.end(),
            [](double a, double b) { return std::fabs(a) > std::fabs(b); });
  BoundedSum sum = SumOfParts(terms);
  for (const double bound : {0.0, 0x1p-60, 0x1p-53, 0x1p-50}) {
    sum.bound += sum.sum.head * bound;
    T result;
    const bool decided = LogOfSum(sum, result);
    EXPECT_TRUE(decided || sum.bound > 0);
    EXPECT_TRUE(!decided || BitsOf(result) == BitsOf(expected));
  }
}

template <typename T>
double LogOfSumError(const std::vector<double>& terms) {
  ExactSum sum;
  Real expected;
  for (double term : terms) {
    sum.Add(term);
    mpfr_add_d(expected.get(), expected.get(), term, MPFR_RNDN);
  }
  mpfr_log(expected.get(), expected.get(), MPFR_RNDN);
  const T result = LogOfSum<T>(sum);
  ExpectTheSameInBounds(terms, result);
  return UlpError(result, expected);
}

TYPED_TEST(LogarithmTest, OfRandomSums) {
  double worst = 0.0;
  for (const FloatFamily& family : kFamilies) {
    for (int round = 0; round < 500; ++round) {
      std::vector<double> terms;
      const int count = UniformInt(this->engine_, 1, 20);
      for (int i = 0; i < count; ++i) {
        terms.push_back(std::abs(Draw<float>(family, this->engine_)) + 0x1p-149);
      }
      worst = std::max(worst, LogOfSumError<TypeParam>(terms));
    }
  }
  EXPECT_LE(worst, 0.51);
  std::cout << "worst error " << worst << " ULP\n";
}

TYPED_TEST(LogarithmTest, OfSumsNearOne) {
  double worst = 0.0;
  for (int round = 0; round < 5000; ++round) {
    const double exponent = Uniform(this->engine_, -149.0, -0.9);
    const double distance = ToDouble(static_cast<float>(std::exp2(exponent)));
    const double first = Uniform(this->engine_, 0.0, 2.0);
    const double signed_distance = RandomSign(this->engine_) * distance;
    worst = std::max(worst, LogOfSumError<TypeParam>({first, 1.0, signed_distance, -first}));
  }
  EXPECT_LE(worst, 0.51);
  std::cout << "worst error " << worst << " ULP\n";
}

TYPED_TEST(LogarithmTest, OfSumsThatAreNotPositive) {
  ExactSum sum;
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ToDouble(LogOfSum<TypeParam>(sum)), -infinity);
  sum.Add(-0x1p-298);
  const uint64_t canonical_nan = sizeof(TypeParam) == 2 ? 0x7E00 : 0x7FC00000;
  EXPECT_EQ(BitsOf(LogOfSum<TypeParam>(sum)), canonical_nan);
  sum.Add(0x1p-298);
  sum.Add(1.0);
  EXPECT_EQ(BitsOf(LogOfSum<TypeParam>(sum)), 0u);
}

// How far max + ln(sum(e^(x - max))) exceeds 0.51 ULP, in units of 2^-45 * (1 + |max|).
template <typename T>
double LogOfExpSumExcess(const std::vector<double>& values) {
  const double max = *std::max_element(values.begin(), values.end());
  ExactSum sum;
  Real expected(0.0, kPrecision);
  for (double value : values) {
    sum.Add(Exp(value - max));
    Real term(value, kPrecision);
    mpfr_sub_d(term.get(), term.get(), max, MPFR_RNDN);
    mpfr_exp(term.get(), term.get(), MPFR_RNDN);
    mpfr_add(expected.get(), expected.get(), term.get(), MPFR_RNDN);
  }
  mpfr_log(expected.get(), expected.get(), MPFR_RNDN);
  mpfr_add_d(expected.get(), expected.get(), max, MPFR_RNDN);
  const double ulp = std::ldexp(1.0, static_cast<int>(LastPlace<T>(expected)));
  const double error = UlpError(LogOfExpSum<T>(max, sum), expected);
  return (error - 0.51) * ulp / (0x1p-45 * (1.0 + std::abs(max)));
}

TYPED_TEST(LogarithmTest, OfSumsOfExponentials) {
  double worst = 0.0;
  for (double spread : {0.001, 1.0, 20.0, 200.0, 3000.0}) {
    for (double center : {0.0, -1.0, 5.0, -100.0, 30000.0}) {
      for (int round = 0; round < 60; ++round) {
        std::vector<double> values(static_cast<size_t>(UniformInt(this->engine_, 1, 40)));
        for (double& value : values) {
          const double exact = center + Uniform(this->engine_, -spread, spread);
          value = ToDouble(FromDouble<TypeParam>(exact));
        }
        worst = std::max(worst, LogOfExpSumExcess<TypeParam>(values));
      }
    }
  }
  EXPECT_LE(worst, 1.0);
}

// ln(n) - ln(n): the result vanishes beside the maximum, and only the absolute bound applies.
TYPED_TEST(LogarithmTest, OfExponentialsThatCancelTheMaximum) {
  for (int count = 2; count < 400; ++count) {
    const double value = ToDouble(FromDouble<TypeParam>(-std::log(count)));
    EXPECT_LE(LogOfExpSumExcess<TypeParam>(std::vector<double>(static_cast<size_t>(count), value)),
              1.0);
  }
}

TEST(Logarithm, OfExponentialsDecidesATieOfTheMaximum) {
  ExactSum sum;
  sum.Add(1.0);
  EXPECT_EQ(LogOfExpSum<float>(1.0 + 0x1p-24, sum), 1.0f);
  sum.Add(0x1p-60);
  EXPECT_EQ(LogOfExpSum<float>(1.0 + 0x1p-24, sum), 1.0f + 0x1p-23f);
}

TEST(Logarithm, OfOneExponentialIsTheElement) {
  for (float value : {0.0f, 100.0f, -100.0f, 3e38f, -3e38f, 0x1p-149f}) {
    ExactSum sum;
    sum.Add(Exp(0.0));
    EXPECT_EQ(LogOfExpSum<float>(static_cast<double>(value), sum), value);
  }
}

// Includes sums near 1, whose logarithm is that of the distance.
TYPED_TEST(LogarithmTest, OfExponentialsInTwoPartsIsThatOfTheExactSum) {
  constexpr int64_t kOne = int64_t{1} << 46;  // in units of the head
  for (int i = 0; i < 20000; ++i) {
    const int64_t distance = std::llround(std::exp2(Uniform(this->engine_, 0.0, 52.9))) *
                             UniformInt(this->engine_, 0, 1);
    const double head = static_cast<double>(kOne + distance) * 0x1p-46;
    const double tail = std::round(Uniform(this->engine_, -0x1p52, 0x1p52)) * 0x1p-92;
    ExactSum sum;
    sum.Add(head);
    sum.Add(tail);
    const double max = static_cast<double>(UniformInt(this->engine_, -1000, 1000)) / 64;
    ASSERT_EQ(BitsOf(LogOfExpSum<TypeParam>(max, HeadTail{head, tail})),
              BitsOf(LogOfExpSum<TypeParam>(max, sum)))
        << head << " + " << tail;
  }
}

}  // namespace
}  // namespace dmlop
