// SPDX-License-Identifier: Apache-2.0
// The one rounding at the end of an exact computation: to nearest, ties to even, subnormals kept,
// overflow to infinity. A nonzero value that rounds to zero keeps its sign; an exact zero is +0.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/exact/double_double.h"
#include "core/exact/exact_sum.h"
#include "core/tensor/half.h"

namespace dmlop {

// Rounds the sum. T is float, Half or double.
template <typename T>
T RoundSum(const ExactSum& sum);

// Rounds sum / divisor, divisor in [1, 2^33]; every term of the sum is a multiple of 2^-298. T is
// float or Half.
template <typename T>
T RoundQuotient(const ExactSum& sum, uint64_t divisor);

// Rounds the square root of a sum that is not negative. T is float or Half.
template <typename T>
T RoundSquareRoot(const ExactSum& sum);

// Rounds head + tail, where |tail| is at most half a unit in the last place of head. The tail of an
// infinity or NaN is ignored; NaN becomes the canonical NaN of T. T is float or Half.
template <typename T>
T RoundOnce(double head, double tail = 0);

// Rounds to nearest, ties in any direction. Returns 0 on overflow and, for FLOAT16, below the
// normal numbers.
inline float RoundQuickly(double x, float) {
  const float nearest = static_cast<float>(x);
  return std::isfinite(nearest) ? nearest : 0;
}
inline Half RoundQuickly(double x, Half) {
  constexpr int kDropped = 52 - 10;  // bits of the significand
  constexpr uint64_t kBias = uint64_t{1023 - 15} << 10;
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
  const uint64_t nearest = ((magnitude + (uint64_t{1} << (kDropped - 1))) >> kDropped) - kBias;
  if (nearest - 0x400 >= 0x7C00 - 0x400) return Half{0};
  return Half{static_cast<uint16_t>((bits >> 48 & 0x8000) | nearest)};
}

// Rounds a number that is within `bound` of `near`, and off by some roundings besides; none if it
// may be near a tie, an end of the range, or zero.
template <typename T>
std::optional<T> RoundClearly(double near, double bound) {
  const double room = bound + std::fabs(near) * 0x1p-50;
  const T result = RoundQuickly(near - room, T{});
  const bool is_clear = result != T{} && result == RoundQuickly(near + room, T{});
  return is_clear ? std::optional(result) : std::nullopt;
}

// Does the same as RoundWithin, but slowly, for any value.
template <typename T>
std::optional<T> RoundWithinExactly(HeadTail value, double bound);

// Rounds a finite number that is within `bound` of head + tail; none if such numbers round to
// different bits. If the bound is 0, a zero keeps its sign. T is float or Half.
template <typename T>
std::optional<T> RoundWithin(HeadTail value, double bound) {
  const std::optional<T> result = RoundClearly<T>(value.head + value.tail, bound);
  return result ? result : RoundWithinExactly<T>(value, bound);
}

}  // namespace dmlop
