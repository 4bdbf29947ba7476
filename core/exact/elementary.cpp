// SPDX-License-Identifier: Apache-2.0
#include "core/exact/elementary.h"

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/exact/rounding.h"
#include "core/tensor/half.h"

namespace dmlop {
namespace {

// ln 2 has two parts; kLn2High ends in 20 zero bits, so its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

constexpr double kExpUnderflow = -708.0;
// Adding this leaves a small double rounded to an integer in the low bits of the significand.
constexpr double kIntegerShift = 0x1.8p52;

// Returns (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2 by the Taylor series to r^13 / 13!, which leaves
// 2^-57. The terms are combined as a tree to keep the chain of dependent operations short.
double ExpRemainder(double r) {
  const double r2 = r * r;
  const double r4 = r2 * r2;
  const double c2 = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
  const double c6 = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
  const double c10 =
      (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
  return c2 + r4 * (c6 + r4 * c10);
}

constexpr size_t kAtanhTerms = 16;

// 2 / 3, 2 / 5, 2 / 7, ...: the coefficients of 2 * atanh(s) / s after the first one.
constexpr std::array<double, kAtanhTerms> kAtanhCoefficients = [] {
  std::array<double, kAtanhTerms> coefficients{};
  for (size_t i = 0; i < kAtanhTerms; ++i) {
    coefficients[i] = 2.0 / static_cast<double>(2 * i + 3);
  }
  return coefficients;
}();

// Returns f - ln(1 + f) for |f| <= 0.5. With s = f / (2 + f), ln(1 + f) = 2 * atanh(s) and 2s = f -
// s * f, so the exact f is the leading term, and rounding in s hardly matters.
double LogDeficit(double f) {
  const double s = f / (2.0 + f);
  const double s2 = s * s;
  double series = 0.0;
  for (size_t i = kAtanhTerms; i-- > 0;) series = series * s2 + kAtanhCoefficients[i];
  return s * (f - s2 * series);
}

}  // namespace

double Exp(double x) {
  assert(x <= 709.0);
  if (x < kExpUnderflow) return 0.0;
  const double shifted = x * kLog2E + kIntegerShift;
  const double exponent = shifted - kIntegerShift;

  // r + r_error = x - exponent * ln(2).
  const double r_high = x - exponent * kLn2High;
  const auto [r, r_error] = FastTwoSum(r_high, -(exponent * kLn2Low));
  const auto [head, tail] = FastTwoSum(1.0, r);
  const double mantissa = head + (tail + (r_error + r * r * ExpRemainder(r)));

  const uint64_t scale = std::bit_cast<uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(mantissa) + scale);
}

double Log(double x) {
  assert(x > 0.0 && std::isfinite(x));
  int64_t exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p52;
    exponent = -52;
  }
  // Takes out the power of two that leaves a factor in [sqrt(1/2), sqrt(2)).
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t square_root_of_half = 0x3FE6A09E667F3BCD;
  const int64_t power = static_cast<int64_t>(bits - square_root_of_half) >> 52;
  const double f = std::bit_cast<double>(bits - (static_cast<uint64_t>(power) << 52)) - 1.0;
  exponent += power;

  const double k = static_cast<double>(exponent);
  return k * kLn2High - ((LogDeficit(f) - k * kLn2Low) - f);
}

double Log1p(double x) {
  assert(std::abs(x) <= 0.5);
  return x - LogDeficit(x);
}

namespace {

bool IsNearOne(double sum) {
  return std::abs(sum - 1.0) <= 0.5;
}

// Returns whether head is the sum rounded to binary64.
bool IsRounded(const BoundedSum& sum) {
  const double more = 2 * sum.bound;
  return sum.sum.head + (sum.sum.tail - more) == sum.sum.head &&
         sum.sum.head + (sum.sum.tail + more) == sum.sum.head;
}

}  // namespace

// Near 1, the distance to 1 is computed before any rounding.
double LogOfPositive(const ExactSum& sum) {
  const double rounded = RoundSum<double>(sum);
  if (!IsNearOne(rounded)) return Log(rounded);
  ExactSum distance = sum;
  distance.Add(-1.0);
  return Log1p(RoundSum<double>(distance));
}

template <typename T>
T LogOfSum(const ExactSum& sum) {
  const int sign = sum.Sign();
  if (sign < 0) return RoundOnce<T>(std::numeric_limits<double>::quiet_NaN());
  if (sign == 0) return RoundOnce<T>(-std::numeric_limits<double>::infinity());
  return RoundOnce<T>(LogOfPositive(sum));
}

template <typename T>
bool LogOfSum(const BoundedSum& sum, T& result) {
  if (!IsRounded(sum)) return false;
  if (!IsNearOne(sum.sum.head)) {
    result = RoundOnce<T>(Log(sum.sum.head));
    return true;
  }
  const BoundedSum distance{TwoSum(sum.sum.head - 1.0, sum.sum.tail), sum.bound};
  if (!IsRounded(distance)) return false;
  result = RoundOnce<T>(Log1p(distance.sum.head));
  return true;
}

template <typename T>
T LogOfExpSum(double max, const ExactSum& sum_of_exp) {
  const auto [head, tail] = TwoSum(max, LogOfPositive(sum_of_exp));
  return RoundOnce<T>(head, tail);
}

template <typename T>
T LogOfExpSum(double max, HeadTail sum_of_exp) {
  // Each is rounded once, as an exact sum would be: the head and its distance from 1 are exact.
  const double rounded = sum_of_exp.head + sum_of_exp.tail;
  const double log =
      IsNearOne(rounded) ? Log1p(sum_of_exp.head - 1.0 + sum_of_exp.tail) : Log(rounded);
  const auto [head, tail] = TwoSum(max, log);
  return RoundOnce<T>(head, tail);
}

template bool LogOfSum<Half>(const BoundedSum&, Half&);
template bool LogOfSum<float>(const BoundedSum&, float&);
template Half LogOfSum<Half>(const ExactSum&);
template float LogOfSum<float>(const ExactSum&);
template Half LogOfExpSum<Half>(double, const ExactSum&);
template float LogOfExpSum<float>(double, const ExactSum&);
template Half LogOfExpSum<Half>(double, HeadTail);
template float LogOfExpSum<float>(double, HeadTail);

// --- quarter turns -------------------------------------------------------------------------------

namespace {

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
  if (std::fabs(x) <= kQuarterPi.head) return {0, {x, 0}};
  Bits192 turns = QuarterTurnBits(x);
  const int count = TakeCount(turns);
  const DoubleDouble rest = ToDoubleDouble(turns) * kHalfPi;
  if (std::signbit(x)) return {-count & 3, -rest};
  return {count, rest};
}

ApproximateQuarterTurns CountQuarterTurnsApproximately(double x) {
  if (std::fabs(x) <= kQuarterPi.head) return {0, x};
  Bits192 turns = QuarterTurnBits(x);
  const int count = TakeCount(turns);
  const double rest = ToDouble(turns) * kHalfPi.head;
  if (std::signbit(x)) return {-count & 3, -rest};
  return {count, rest};
}

}  // namespace dmlop
