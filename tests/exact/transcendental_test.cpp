// SPDX-License-Identifier: Apache-2.0
#include "core/exact/transcendental.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "core/exact/dyadic.h"
#include "core/exact/rounding.h"
#include "tests/exact/float_strata.h"
#include "tests/reference/real_function.h"
#include "tests/support/case_name.h"

namespace dmlop {
namespace {

using F = ElementWiseFunction;

HeadTail Element(F function, double x, Parameters parameters) {
  const bool has_two = function == F::kPow || function == F::kAtanYx;
  const double elements[] = {x, parameters.first};
  const double numbers[] = {parameters.first, parameters.second};
  return ExactElement(function, {elements, has_two ? 2u : 1u}, numbers);
}

template <typename T>
T RoundedElement(F function, double x, Parameters parameters = {}) {
  const HeadTail exact = Element(function, x, parameters);
  return RoundOnce<T>(exact.head, exact.tail);
}

// True if the exact value is on the same side of the rounded one as the real value, however close.
// Passes if 1400 bits do not distinguish them.
template <typename T>
bool HasTheSideOf(F function, double x, T rounded, Parameters parameters = {}) {
  Real real = RealFunction(function, x, parameters, 1400);
  const double y = ToDouble(rounded);
  if (!std::isfinite(x) || !mpfr_number_p(real.get()) || !std::isfinite(y)) return true;
  const int side = mpfr_cmp_d(real.get(), y);
  const HeadTail exact = Element(function, x, parameters);
  const Dyadic distance = Dyadic(exact.head) + Dyadic(exact.tail) - Dyadic(y);
  return side == 0 || distance.Sign() == (side > 0 ? 1 : -1);
}

class TranscendentalTest : public testing::TestWithParam<NamedFunction> {};

TEST_P(TranscendentalTest, EveryHalfIsRoundedRight) {
  const F function = GetParam().function;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double x = ToFloat(Half{static_cast<uint16_t>(bits)});
    ASSERT_EQ(RoundedElement<Half>(function, x).bits, ExpectedResult<Half>(function, x).bits)
        << std::hexfloat << x;
  }
}

TEST_P(TranscendentalTest, FloatsOfAllExponentsAreRoundedRight) {
  const F function = GetParam().function;
  for (const float x : FloatStrata()) {
    ASSERT_EQ(BitsOf(RoundedElement<float>(function, x)),
              BitsOf(ExpectedResult<float>(function, x)))
        << std::hexfloat << x;
    ASSERT_TRUE(HasTheSideOf(function, x, RoundedElement<float>(function, x)))
        << std::hexfloat << x;
    ASSERT_EQ(RoundedElement<Half>(function, x).bits, ExpectedResult<Half>(function, x).bits)
        << std::hexfloat << x;
  }
}

INSTANTIATE_TEST_SUITE_P(Unary, TranscendentalTest, testing::ValuesIn(kUnaryFunctions),
                         CaseName<NamedFunction>);

struct HardCase {
  F function;
  uint32_t x;
  uint32_t expected;
};

// Results within 2^-46 to 2^-54 of a midpoint, or a tie in the leading term.
constexpr HardCase kHardCases[] = {
    {F::kExp, 0x33800000, 0x3F800001},     {F::kExp, 0xB3000000, 0x3F800000},
    {F::kExp, 0xBA7242A6, 0x3F7FC376},     {F::kLog, 0x0F61FF63, 0xC2855565},
    {F::kLog, 0x7405DEE8, 0x4291A68D},     {F::kSin, 0xBFA0FA4E, 0xBF738CB1},
    {F::kSin, 0x504A1D32, 0xBF580570},     {F::kSin, 0x6F79BE45, 0x3F800000},
    {F::kCos, 0x39800000, 0x3F800000},     {F::kCos, 0xD2F88494, 0x3F5C5971},
    {F::kCos, 0xFC75F2A4, 0xBE61EC6F},     {F::kCos, 0x6F79BE45, 0xB0DDEEA9},
    {F::kTan, 0xC3BF198B, 0x3FEC8514},     {F::kTan, 0xE42677D0, 0xC09D90A0},
    {F::kTan, 0x6F79BE45, 0xCE13A60E},     {F::kAtan, 0xC241B6F5, 0xBFC66B54},
    {F::kTanh, 0x3E150CD4, 0x3E14019E},    {F::kAsinh, 0xCE05F412, 0xC1A6B811},
    {F::kAtanh, 0x3F21F4FE, 0x3F3EED9D},   {F::kAcos, 0x39828222, 0x3FC907B2},
    {F::kSigmoid, 0xB7370000, 0x3EFFFFA5}, {F::kSigmoid, 0xB7E78000, 0x3EFFFF19},
    {F::kGelu, 0x00000001, 0x00000001},    {F::kGelu, 0x80000001, 0x80000000},
};

TEST(Transcendental, HardCasesAreRoundedRight) {
  for (const auto& [function, x, expected] : kHardCases) {
    EXPECT_EQ(BitsOf(RoundedElement<float>(function, FloatOf(x))), expected) << std::hex << x;
  }
  const Parameters one{1, 0};
  EXPECT_EQ(BitsOf(RoundedElement<float>(F::kSwish, FloatOf(1), one)), 1u);
  EXPECT_EQ(BitsOf(RoundedElement<float>(F::kSwish, -FloatOf(1), one)), 0x80000000u);
}

struct Activation {
  const char* name;
  F function;
  Parameters parameters;
};

const Activation kActivations[] = {
    {"Elu1", F::kElu, {1, 0}},
    {"EluHalf", F::kElu, {0.5, 0}},
    {"Celu1", F::kCelu, {1, 0}},
    {"Celu3", F::kCelu, {3, 0}},
    {"CeluNegative", F::kCelu, {-0.75, 0}},
    {"ScaledElu", F::kScaledElu, {1.67326319217681884765625, 1.05070102214813232421875}},
    {"ScaledTanh", F::kScaledTanh, {1, 0.5}},
    {"ScaledTanhTwice", F::kScaledTanh, {2, 1}},
    {"ScaledTanhLarge", F::kScaledTanh, {1.7159, 0x1.5555555p-1}},
    {"Softplus1", F::kSoftplus, {1, 0}},
    {"Softplus2", F::kSoftplus, {2, 0}},
    {"SoftplusNegative", F::kSoftplus, {-3, 0}},
    {"ParametricSoftplus", F::kParametricSoftplus, {2, 0.5}},
    {"Swish1", F::kSwish, {1, 0}},
    {"QuickGelu", F::kSwish, {double{1.702f}, 0}},
    {"Square", F::kPow, {2, 0}},
    {"Cube", F::kPow, {3, 0}},
    {"Root", F::kPow, {0.5, 0}},
    {"Inverse", F::kPow, {-1, 0}},
    {"PowerOfTwoThirds", F::kPow, {0x1.555556p-1, 0}},
    {"PowerOfLarge", F::kPow, {2147483647, 0}},
    {"AngleOfOne", F::kAtanYx, {1, 0}},
    {"AngleOfMinusTiny", F::kAtanYx, {-0x1p-149, 0}},
};

class ActivationTest : public testing::TestWithParam<Activation> {};

TEST_P(ActivationTest, ResultsAreRoundedRight) {
  const auto& [name, function, given] = GetParam();
  const Parameters parameters{ToDouble(static_cast<float>(given.first)),
                              ToDouble(static_cast<float>(given.second))};
  for (const float x : FloatStrata()) {
    if (std::isnan(x)) continue;
    ASSERT_EQ(BitsOf(RoundedElement<float>(function, x, parameters)),
              BitsOf(ExpectedResult<float>(function, x, parameters)))
        << std::hexfloat << x;
    const float rounded = RoundedElement<float>(function, x, parameters);
    ASSERT_TRUE(HasTheSideOf(function, x, rounded, parameters)) << std::hexfloat << x;
  }
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      const double x = ToFloat(Half{static_cast<uint16_t>(bits | sign)});
      ASSERT_EQ(RoundedElement<Half>(function, x, parameters).bits,
                ExpectedResult<Half>(function, x, parameters).bits)
          << std::hexfloat << x;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parameters, ActivationTest, testing::ValuesIn(kActivations),
                         CaseName<Activation>);

// Powers of r^(2^n) * 2^(j * 2^n) with an exponent k / 2^n; base and result have few bits.
TEST(Transcendental, ExactPowersHaveNoTail) {
  const double no_numbers[2] = {};
  size_t count = 0;
  for (int n = 0; n <= 4; ++n) {
    const int root = 1 << n;
    for (double r = 1; std::pow(r, root) < 0x1p24 && r < 0x1p12; r += 2) {
      for (int k = 1; std::pow(r, k) < 0x1p25 && k < 100; k += n == 0 ? 1 : 2) {
        for (int j = -126 / root; j <= 126 / root; ++j) {
          const double elements[] = {std::ldexp(std::pow(r, root), j * root),
                                     static_cast<double>(k) / root};
          const double power = std::ldexp(std::pow(r, k), j * k);
          if (power < 0x1p-149 || power > 0x1p128 || elements[0] > 0x1p127) continue;
          const HeadTail exact = ExactElement(F::kPow, elements, no_numbers);
          ASSERT_EQ(exact.head, power) << elements[0] << " " << elements[1];
          ASSERT_EQ(exact.tail, 0) << elements[0] << " " << elements[1];
          ++count;
        }
      }
    }
  }
  EXPECT_GT(count, 10000u);
}

}  // namespace
}  // namespace dmlop
