// SPDX-License-Identifier: Apache-2.0
#include "core/exact/half_pi.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace dmlop {
namespace {

constexpr DoubleDouble kHalfPi{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr double kQuarterPi = 0x1.921fb54442d18p-1;

// 32 zero bits, followed by the first bits of 2 / pi after the binary point.
constexpr uint32_t kTwoOverPi[] = {0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                   0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
                                   0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea};

// An integer of 192 bits, most significant part first.
using Bits192 = std::array<uint64_t, 3>;

// Returns the bits of 2 / pi that follow the first `first` bits after the binary point.
Bits192 BitsOfTwoOverPi(int first) {
  const int bit = first + 32;
  const size_t word = static_cast<size_t>(bit) / 32;
  const int shift = bit % 32;
  Bits192 bits;
  for (size_t i = 0; i < bits.size(); ++i) {
    const size_t at = word + 2 * i;
    const uint64_t wide = uint64_t{kTwoOverPi[at]} << 32 | kTwoOverPi[at + 1];
    bits[i] = shift == 0 ? wide : wide << shift | kTwoOverPi[at + 2] >> (32 - shift);
  }
  return bits;
}

// Multiplies modulo 2^192 by a factor below 2^32.
Bits192 Product(const Bits192& bits, uint64_t factor) {
  Bits192 product;
  uint64_t carry = 0;
  for (size_t i = bits.size(); i-- > 0;) {
    const uint64_t low = (bits[i] & 0xFFFFFFFF) * factor + carry;
    const uint64_t high = (bits[i] >> 32) * factor + (low >> 32);
    product[i] = high << 32 | (low & 0xFFFFFFFF);
    carry = high >> 32;
  }
  return product;
}

// Returns x * 2 / pi modulo 4, in units of 2^-190, for finite |x| > pi / 4.
Bits192 QuarterTurnBits(double x) {
  // |x| = significand * 2^exponent. The bits of 2 / pi above the one of weight 2^(1 - exponent)
  // contribute only whole turns.
  const uint64_t bits = std::bit_cast<uint64_t>(std::fabs(x));
  const int exponent = static_cast<int>(bits >> 52) - 1023 - 23;
  const uint64_t significand = (bits << 11 | uint64_t{1} << 63) >> 40;
  return Product(BitsOfTwoOverPi(exponent - 2), significand);
}

// Takes the nearest count of quarter turns from the two highest bits. The bits below are the rest,
// which is negative if the first of them is set: then it is sign-extended.
int TakeCount(Bits192& turns) {
  constexpr uint64_t kHighest = uint64_t{3} << 62;
  const int count = static_cast<int>((turns[0] + (uint64_t{1} << 61)) >> 62);
  const bool is_negative = (turns[0] >> 61 & 1) != 0;
  turns[0] = is_negative ? turns[0] | kHighest : turns[0] & ~kHighest;
  return count;
}

// Returns bits / 2^190. The first 128 bits are enough even if x is close to a multiple of pi / 2:
// no FLOAT32 is closer than 2^-30.
double ToDouble(const Bits192& bits) {
  const double head = static_cast<double>(static_cast<int64_t>(bits[0]));
  return (head + static_cast<double>(bits[1]) * 0x1p-64) * 0x1p-62;
}

DoubleDouble ToDoubleDouble(const Bits192& bits) {
  const auto part = [](uint64_t part_bits, double unit) {
    const double high = static_cast<double>(part_bits >> 32);
    const double low = static_cast<double>(part_bits & 0xFFFFFFFF);
    return TwoSum(high * (unit * 0x1p32), low * unit);
  };
  DoubleDouble top = part(bits[0], 0x1p-62);
  if (bits[0] >> 63 != 0) top = top + -4.0;
  return top + part(bits[1], 0x1p-126) + part(bits[2], 0x1p-190);
}

}  // namespace

QuarterTurns CountQuarterTurns(double x) {
  if (std::fabs(x) <= kQuarterPi) return {0, {x, 0}};
  Bits192 turns = QuarterTurnBits(x);
  const int count = TakeCount(turns);
  const DoubleDouble rest = ToDoubleDouble(turns) * kHalfPi;
  if (std::signbit(x)) return {-count & 3, -rest};
  return {count, rest};
}

ApproximateQuarterTurns CountQuarterTurnsApproximately(double x) {
  if (std::fabs(x) <= kQuarterPi) return {0, x};
  Bits192 turns = QuarterTurnBits(x);
  const int count = TakeCount(turns);
  const double rest = ToDouble(turns) * kHalfPi.head;
  if (std::signbit(x)) return {-count & 3, -rest};
  return {count, rest};
}

}  // namespace dmlop
