// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/exact/mpfr_oracle.h"
#include "tests/support/case_name.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

uint16_t HalfBits(double value) {
  return ToHalf(value).bits;
}

bool IsNan(Half half) {
  return (half.bits & 0x7FFF) > 0x7C00;
}

TEST(Half, EveryValueRoundTrips) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const float wide = ToFloat(half);
    if (IsNan(half)) {
      EXPECT_TRUE(std::isnan(wide)) << bits;
      EXPECT_EQ(HalfBits(wide), 0x7E00) << bits;
    } else {
      EXPECT_EQ(HalfBits(wide), bits);
    }
  }
}

// sign * mantissa * 2^exponent, the definition of the format.
TEST(Half, EveryFiniteValueIsWhatTheFormatSays) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    if (exponent == 31) continue;
    const int fraction = static_cast<int>(bits & 1023);
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    const double wide = static_cast<double>(ToFloat(Half{static_cast<uint16_t>(bits)}));
    EXPECT_EQ(wide, bits >> 15 != 0 ? -magnitude : magnitude);
    EXPECT_EQ(std::signbit(wide), bits >> 15 != 0);
  }
}

TEST(Half, WideningKeepsThePayloadOfNan) {
  EXPECT_EQ(BitsOf(ToFloat(Half{0x7E00})), 0x7FC00000u);
  EXPECT_EQ(BitsOf(ToFloat(Half{0xFE01})), 0xFFC02000u);
  EXPECT_EQ(BitsOf(ToFloat(Half{0x7C01})), 0x7FC02000u);  // made quiet
}

struct RoundingCase {
  std::string name;
  double value;
  uint16_t bits;
};

const RoundingCase kRoundingCases[] = {
    {"Zero", 0.0, 0x0000},
    {"NegativeZero", -0.0, 0x8000},
    {"One", 1.0, 0x3C00},
    {"ThreeTenths", 0.3, 0x34CD},
    {"SixFifths", 1.2, 0x3CCD},
    {"Largest", 65504, 0x7BFF},
    {"BelowTheLimit", 65519.999999999993, 0x7BFF},
    {"AtTheLimit", 65520, 0x7C00},
    {"NegativeAtTheLimit", -65520, 0xFC00},
    {"LargestDouble", std::numeric_limits<double>::max(), 0x7C00},
    {"Infinity", INFINITY, 0x7C00},
    {"NegativeInfinity", -INFINITY, 0xFC00},
    {"NegativeNan", -std::nan("7"), 0x7E00},
    {"TieToEvenDown", 1.0 + 0x1p-11, 0x3C00},
    {"TieToEvenUp", 1.0 + 0x3p-11, 0x3C02},
    {"JustAboveATie", 1.0 + 0x1p-11 + 0x1p-52, 0x3C01},
    {"CarryIntoTheExponent", 2.0 - 0x1p-12, 0x4000},
    {"LeastSubnormal", 0x1p-24, 0x0001},
    {"HalfOfLeastSubnormal", 0x1p-25, 0x0000},
    {"JustAboveHalfOfLeastSubnormal", 0x1.0000000000001p-25, 0x0001},
    {"NegativeUnderflow", -0x1p-1074, 0x8000},
    {"SubnormalTieToEven", 0x3p-25, 0x0002},
    {"LargestSubnormalRoundsUpToNormal", 0x1.ffep-15, 0x0400},
    {"LeastNormal", 0x1p-14, 0x0400},
};

class HalfRounding : public testing::TestWithParam<RoundingCase> {};

TEST_P(HalfRounding, IsToNearestTiesToEven) {
  EXPECT_EQ(HalfBits(GetParam().value), GetParam().bits);
}

INSTANTIATE_TEST_SUITE_P(Values, HalfRounding, testing::ValuesIn(kRoundingCases),
                         CaseName<RoundingCase>);

// --- against the definition ----------------------------------------------------------------------

void ExpectExactRounding(double value) {
  // RoundReal narrows a number that is already a Half, which EveryValueRoundTrips covers.
  ASSERT_EQ(HalfBits(value), BitsOf(RoundReal<Half>(Real(value)))) << value;
}

TEST(Half, RandomDoublesRoundToNearest) {
  SCOPED_TRACE(CaseTrace(0));
  Engine engine = CaseEngine(0);
  for (int i = 0; i < 200000; ++i) {
    ExpectExactRounding(WithRandomSign(engine, std::exp2(Uniform(engine, -30.0, 17.0))));
  }
}

TEST(Half, EveryTieAndItsNeighboursRoundToNearest) {
  for (uint16_t bits = 0; bits < 0x7C00; ++bits) {
    const double low = static_cast<double>(ToFloat(Half{bits}));
    const double high = bits == 0x7BFF
                            ? 65536.0
                            : static_cast<double>(ToFloat(Half{static_cast<uint16_t>(bits + 1)}));
    const double tie = low + (high - low) / 2;
    for (const double value : {tie, std::nextafter(tie, 0.0), std::nextafter(tie, INFINITY)}) {
      ExpectExactRounding(value);
      ExpectExactRounding(-value);
    }
  }
}

}  // namespace
}  // namespace dmlop
