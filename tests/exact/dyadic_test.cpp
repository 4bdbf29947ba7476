// SPDX-License-Identifier: Apache-2.0
#include "core/exact/dyadic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/base/integers.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

struct DecimalCase {
  Dyadic value;
  std::string decimal;
};

const DecimalCase kDecimalCases[] = {
    {Dyadic(), "0"},
    {Dyadic(-0.0), "0"},
    {Dyadic(1), "1"},
    {Dyadic(-10), "-10"},
    {Dyadic(std::numeric_limits<int64_t>::min()), "-9223372036854775808"},
    {Dyadic(std::numeric_limits<uint64_t>::max()), "18446744073709551615"},
    {Dyadic((Int128{1} << 96) + 1), "79228162514264337593543950337"},
    {Dyadic(-(Int128{1} << 96) - 1), "-79228162514264337593543950337"},
    {Dyadic(0.1), "0.1000000000000000055511151231257827021181583404541015625"},
    {Dyadic(-0x1p-20), "-9.5367431640625e-7"},
    {Dyadic(0x1p-16), "0.0000152587890625"},
    {Dyadic(0x1p64) * Dyadic(0x1p64), "340282366920938463463374607431768211456"},
    {Dyadic(1).TimesPowerOfTwo(140), "1.393796574908163946345982392040522594123776e+42"},
    {Dyadic(1e22), "10000000000000000000000"},
    {Dyadic(5e-324).TimesPowerOfTwo(1074), "1"},
    {Dyadic(0x1p100) + Dyadic(-0x1p100), "0"},
    {Dyadic(0x1p64) - Dyadic(1), "18446744073709551615"},
    {Dyadic(1) - Dyadic(0x1p64), "-18446744073709551615"},
};

TEST(Dyadic, HasEveryDecimal) {
  for (const DecimalCase& c : kDecimalCases) EXPECT_EQ(c.value.ToDecimal(), c.decimal);
}

// The oracle is 128-bit integers; longer numbers are checked by the laws of arithmetic.
TEST(Dyadic, CalculatesExactly) {
  const auto of = [](Int128 value) {
    return Dyadic(static_cast<int64_t>(value >> 64)).TimesPowerOfTwo(64) +
           Dyadic(static_cast<uint64_t>(value));
  };
  Engine engine = TestEngine();
  Dyadic longest(1);
  for (int i = 0; i < 3000; ++i) {
    const int64_t a = static_cast<int64_t>(engine()) >> UniformInt(engine, 0, 63);
    const int64_t b = static_cast<int64_t>(engine()) >> UniformInt(engine, 0, 63);
    ASSERT_EQ((of(Int128{a} * b) - Dyadic(a) * Dyadic(b)).Sign(), 0);
    ASSERT_EQ((of(Int128{a} + b) - (Dyadic(a) + Dyadic(b))).Sign(), 0);
    ASSERT_EQ((of(Int128{a} - b) - (Dyadic(a) - Dyadic(b))).Sign(), 0);
    ASSERT_EQ((Dyadic(a) - Dyadic(b)).Sign(), a < b ? -1 : a > b);
    ASSERT_EQ(Dyadic(a).ToDecimal(), std::to_string(a));
    if (a == 0 || i % 30 != 0) continue;
    const Dyadic x = longest + Dyadic(a).TimesPowerOfTwo(UniformInt(engine, -300, 300));
    const Dyadic y = Dyadic(b) - longest;
    ASSERT_EQ(((x + y) * (x - y) - (x * x - y * y)).Sign(), 0);
    longest = longest * Dyadic(a);
  }
}

TEST(Dyadic, KnowsItsOddPart) {
  const Dyadic value = Dyadic(-12).TimesPowerOfTwo(-100);
  EXPECT_EQ(value.Sign(), -1);
  EXPECT_EQ(value.bit_length(), 2);
  EXPECT_EQ(value.exponent(), -98);
  EXPECT_EQ(Dyadic().bit_length(), 0);
}

}  // namespace
}  // namespace dmlop
