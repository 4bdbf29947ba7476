// SPDX-License-Identifier: Apache-2.0
#include "core/exact/rounding.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <type_traits>

#include "core/tensor/element.h"

namespace dmlop {
namespace {

template <typename T>
struct FloatFormat;

template <>
struct FloatFormat<Half> {
  using Bits = uint16_t;
  static constexpr int kPrecision = 11;
  static constexpr int kMinExponent = -14;
  static constexpr uint64_t kInfinity = 0x7C00;
};

template <>
struct FloatFormat<float> {
  using Bits = uint32_t;
  static constexpr int kPrecision = 24;
  static constexpr int kMinExponent = -126;
  static constexpr uint64_t kInfinity = 0x7F800000;
};

template <>
struct FloatFormat<double> {
  using Bits = uint64_t;
  static constexpr int kPrecision = 53;
  static constexpr int kMinExponent = -1022;
  static constexpr uint64_t kInfinity = 0x7FF0000000000000;
};

// A positive number: significand * 2^(exponent - 63), plus less than one unit if not exact.
struct LeadingBits {
  uint64_t significand;  // the top bit is set
  int exponent;
  bool exact;
};

LeadingBits TakeLeadingBits(const SignMagnitude& magnitude) {
  const auto& digits = magnitude.digits;
  size_t top = digits.size() - 1;
  while (digits[top] == 0) --top;
  const auto below_top = [&](size_t i) { return i <= top ? uint64_t{digits[top - i]} : 0; };

  const int shift = std::countl_zero(digits[top]);
  const uint64_t third = below_top(2) << shift;
  bool exact = (third & 0xFFFFFFFFu) == 0;
  for (size_t i = 3; i <= top && exact; ++i) exact = below_top(i) == 0;
  return {(((below_top(0) << 32) | below_top(1)) << shift) | (third >> 32),
          32 * static_cast<int>(top) + 31 - shift + SignMagnitude::kLowExponent, exact};
}

template <typename T>
T Pack(bool negative, const LeadingBits& value) {
  using Format = FloatFormat<T>;
  using Bits = typename Format::Bits;
  const int above_subnormal = value.exponent - Format::kMinExponent;
  const int dropped_bits = 64 - Format::kPrecision + std::max(0, -above_subnormal);

  uint64_t magnitude = 0;  // stays zero below half the least subnormal
  if (dropped_bits <= 64) {
    const uint64_t kept = dropped_bits == 64 ? 0 : value.significand >> dropped_bits;
    const uint64_t rest = value.significand << (64 - dropped_bits);
    const uint64_t half = uint64_t{1} << 63;
    const bool up = rest > half || (rest == half && (!value.exact || kept % 2 == 1));
    // The leading bit of `kept` adds the 1 from which the exponent field of a normal number starts,
    // and a carry out of the significand moves on into that field.
    magnitude = (static_cast<uint64_t>(std::max(0, above_subnormal)) << (Format::kPrecision - 1)) +
                kept + (up ? 1 : 0);
  }
  magnitude = std::min(magnitude, Format::kInfinity);
  const uint64_t sign = negative ? uint64_t{1} << (8 * sizeof(T) - 1) : 0;
  return std::bit_cast<T>(static_cast<Bits>(magnitude | sign));
}

// Divides in place and drops the remainder. The midpoints of T are multiples of 2^-150 and sums are
// multiples of 2^-298, so a quotient that is not a tie misses one by at least 2^-331, which shows
// in the digits.
void Divide(SignMagnitude& value, uint64_t divisor) {
  uint64_t remainder = 0;
  // Divides half a digit at a time, so that a remainder of 33 bits can be shifted in front of it.
  for (auto digit = value.digits.rbegin(); digit != value.digits.rend(); ++digit) {
    if (remainder == 0 && *digit == 0) continue;
    const uint64_t upper = (remainder << 16) | (*digit >> 16);
    const uint64_t lower = ((upper % divisor) << 16) | (*digit & 0xFFFFu);
    *digit = static_cast<uint32_t>(((upper / divisor) << 16) | (lower / divisor));
    remainder = lower % divisor;
  }
}

// Returns floor(sqrt(square)) for square >= 2^62.
uint64_t IntegerSquareRoot(uint64_t square) {
  // Rounding raises the estimate by at most 1 and never lowers it below the root, because perfect
  // squares come out exact.
  const double estimate = std::sqrt(static_cast<double>(square));
  const uint64_t root = std::min(static_cast<uint64_t>(estimate), uint64_t{0xFFFFFFFF});
  return root * root > square ? root - 1 : root;
}

// 32 bits of the root, and whether more follow, decide any rounding to at most 30 bits.
LeadingBits SquareRoot(LeadingBits value) {
  const int scale = value.exponent - 63;
  uint64_t square = value.significand;
  bool exact = value.exact;
  if (scale % 2 != 0) {
    exact = exact && square % 2 == 0;
    square >>= 1;
  }
  const uint64_t root = IntegerSquareRoot(square);
  exact = exact && root * root == square;
  const int root_scale = (scale + (scale % 2 != 0 ? 1 : 0)) / 2;
  return {root << 32, root_scale + 31, exact};
}

// Moves an inexact head with an even last bit to its neighbor on the tail's side; rounding that to
// a narrower format gives the same as rounding head + tail.
double RoundToOdd(double head, double tail) {
  const uint64_t bits = std::bit_cast<uint64_t>(head);
  if (tail == 0 || bits % 2 == 1) return head;
  const bool away_from_zero = std::signbit(head) == std::signbit(tail);
  return std::bit_cast<double>(away_from_zero ? bits + 1 : bits - 1);
}

template <typename T>
T Narrow(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(value);
  } else {
    return std::isnan(value) ? std::bit_cast<float>(0x7FC00000u) : static_cast<float>(value);
  }
}

}  // namespace

template <typename T>
T RoundSum(const ExactSum& sum) {
  const SignMagnitude value = sum.ToSignMagnitude();
  return value.IsZero() ? T{} : Pack<T>(value.negative, TakeLeadingBits(value));
}

template <typename T>
T RoundQuotient(const ExactSum& sum, uint64_t divisor) {
  assert(divisor >= 1 && divisor <= uint64_t{1} << 33);
  SignMagnitude quotient = sum.ToSignMagnitude();
  if (quotient.IsZero()) return T{};
  Divide(quotient, divisor);
  return Pack<T>(quotient.negative, TakeLeadingBits(quotient));
}

template <typename T>
T RoundSquareRoot(const ExactSum& sum) {
  const SignMagnitude value = sum.ToSignMagnitude();
  assert(!value.negative);
  return value.IsZero() ? T{} : Pack<T>(false, SquareRoot(TakeLeadingBits(value)));
}

template <typename T>
T RoundOnce(double head, double tail) {
  return Narrow<T>(std::isfinite(head) ? RoundToOdd(head, tail) : head);
}

template <typename T>
std::optional<T> RoundWithinExactly(HeadTail value, double bound) {
  const auto rounded = [&](double more) {
    const double tail = value.tail + more;
    const HeadTail sum = tail == 0 ? HeadTail{value.head, 0} : TwoSum(value.head, tail);
    return RoundOnce<T>(sum.head, sum.tail);
  };
  if (bound == 0) return rounded(0);
  // Leaves room for the rounding of tails here.
  const double reach = bound * (1 + 0x1p-40) + std::fabs(value.tail) * 0x1p-50;
  const T least = rounded(-reach);
  return ElementBits(least) == ElementBits(rounded(reach)) ? std::optional(least) : std::nullopt;
}

template Half RoundSum<Half>(const ExactSum&);
template float RoundSum<float>(const ExactSum&);
template double RoundSum<double>(const ExactSum&);
template Half RoundQuotient<Half>(const ExactSum&, uint64_t);
template float RoundQuotient<float>(const ExactSum&, uint64_t);
template Half RoundSquareRoot<Half>(const ExactSum&);
template float RoundSquareRoot<float>(const ExactSum&);
template Half RoundOnce<Half>(double, double);
template float RoundOnce<float>(double, double);
template std::optional<Half> RoundWithinExactly<Half>(HeadTail, double);
template std::optional<float> RoundWithinExactly<float>(HeadTail, double);

}  // namespace dmlop
