// SPDX-License-Identifier: Apache-2.0
// Sums without rounding: of binary64 values in any order, and of integers that are scaled to other
// integers or to real numbers and then rounded once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/base/integers.h"

namespace dmlop {

// The value of an ExactSum as +-sum of digits[i] * 2^(32 * i + kLowExponent).
struct SignMagnitude {
  static constexpr int kLowExponent = -350;  // even, so that a square root halves it
  static constexpr int kDigitCount = 20;

  std::array<uint32_t, kDigitCount> digits{};  // least significant first
  bool negative = false;

  bool IsZero() const;
};

// Terms in the form in which an ExactSum adds them: (2^64 * high + low) * 2^(64 * part +
// kLowExponent). If `low` and `high` are 0, `part` may be any part.
struct SplitTerms {
  static constexpr int64_t kMostCount = 256;

  alignas(64) std::array<uint64_t, kMostCount> low;
  alignas(64) std::array<int64_t, kMostCount> high;
  alignas(64) std::array<uint64_t, kMostCount> part;
};

// A fixed-point number with 64 payload bits in each part of 128 bits; the rest of a part collects
// carries, so an addition touches only one part.
//
// Holds up to 2^33 terms, each a multiple of 2^-298 (the square of the least FLOAT32 subnormal) and
// below 2^257 in magnitude, or fewer and larger ones up to 2^273. The caller must handle infinities
// and NaN.
class ExactSum {
 public:
  static constexpr int kMantissaBits = 52;
  // Exponent of the least terms, whose last bit is the first bit of the first part.
  static constexpr int kLowestBiasedExponent = 1023 + kMantissaBits + SignMagnitude::kLowExponent;
  static constexpr int kPartBits = 64;

  // Adds `value`, finite and below 2^273. A value below 2^-298 is dropped: only exponentials are
  // ever that small, and one of their terms is 1.
  void Add(double value);

  // Adds the first `count` terms, which have the same limits as in the other Add.
  void Add(const SplitTerms& terms, int64_t count);

  void Merge(const ExactSum& other);
  // Takes the terms of another out again.
  void Remove(const ExactSum& other);

  // Propagates carries, so that many others may be merged without. Afterwards every part but the
  // last, which has the sign, is in [0, 2^64).
  void Normalize();

  // Returns -1, 0 or 1.
  int Sign() const;

  SignMagnitude ToSignMagnitude() const;

 private:
  static constexpr int kPartCount = SignMagnitude::kDigitCount * 32 / kPartBits;
  static constexpr int kHighestBiasedExponent = 1023 + 272;
  static constexpr int kTermBits = kMantissaBits + kPartBits;
  static constexpr uint32_t kMaxPending = (uint32_t{1} << (127 - kTermBits)) - 1;
  static_assert(SplitTerms::kMostCount < kMaxPending);

  // Adds the other's parts times 1 or -1.
  void Combine(const ExactSum& other, int64_t sign);

  std::array<Int128, kPartCount> parts_{};
  uint32_t pending_ = 0;  // each part's magnitude is at most pending_ * 2^kTermBits
};

inline void ExactSum::Add(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int biased_exponent = static_cast<int>((bits >> kMantissaBits) & 0x7FF);
  if (biased_exponent < kLowestBiasedExponent) return;
  assert(biased_exponent <= kHighestBiasedExponent);

  const uint64_t hidden_bit = uint64_t{1} << kMantissaBits;
  const uint64_t significand = (bits & (hidden_bit - 1)) | hidden_bit;
  // (x ^ sign) - sign negates x if the sign is -1.
  const int64_t sign = static_cast<int64_t>(bits) >> 63;
  const Int128 term = (static_cast<int64_t>(significand) ^ sign) - sign;
  const unsigned position = static_cast<unsigned>(biased_exponent - kLowestBiasedExponent);
  parts_[position / kPartBits] += term << (position % kPartBits);
  if (++pending_ == kMaxPending) Normalize();
}

inline void ExactSum::Add(const SplitTerms& terms, int64_t count) {
  if (pending_ + static_cast<uint32_t>(count) >= kMaxPending) Normalize();
  pending_ += static_cast<uint32_t>(count);
  // Every other term is added apart, as an addition waits for the one before if both change the
  // same part.
  std::array<Int128, kPartCount> odd_parts{};
  const auto term = [&](size_t i) { return (Int128{terms.high[i]} << kPartBits) + terms.low[i]; };
  size_t i = 0;
  for (; i + 2 <= static_cast<size_t>(count); i += 2) {
    parts_[terms.part[i]] += term(i);
    odd_parts[terms.part[i + 1]] += term(i + 1);
  }
  if (i < static_cast<size_t>(count)) parts_[terms.part[i]] += term(i);
  for (size_t k = 0; k < kPartCount; ++k) parts_[k] += odd_parts[k];
}

// The terms that an exact sum of the others cannot hold: zeros, which have signs, infinities and
// NaN. They are added as IEEE 754 adds them.
class SpecialTerms {
 public:
  // Takes a term if it is special. Any other has to be added to the sum of the others.
  bool Take(double term) {
    const bool is_special = term == 0 || !std::isfinite(term);
    const double taken = is_special ? term : 0.0;
    sum_ = is_empty_ ? taken : sum_ + taken;
    is_empty_ = false;
    has_others_ |= !is_special;
    return is_special;
  }

  bool are_finite() const { return std::isfinite(sum_); }
  bool has_others() const { return has_others_; }

  // Returns the sum of all terms if that of the others is 0, or some term is not finite: -0 if all
  // terms are, +0 if there is none.
  double sum() const { return sum_; }

 private:
  double sum_ = 0;
  bool is_empty_ = true;
  bool has_others_ = false;
};

// --- sums of integers ----------------------------------------------------------------------------

// Converts a sum in units of a * b to units of c * divisor. Products a * b must be exact in
// binary64, as those of FLOAT32 numbers are; c is a FLOAT32 number, and divisor is in [0, 2^96].
struct UnitChange {
  double a, b, c;
  Int128 divisor = 1;
};

// The number that is added after rounding, and the bounds of the result; of up to 32 bits.
struct QuantizedRange {
  int64_t zero_point, least, greatest;
};

// Returns the nearest number. A conversion of 128 bits is a call, and takes as long as a division.
inline double Nearest(Int128 number) {
  const int64_t low = static_cast<int64_t>(number);
  return low == number ? static_cast<double>(low) : static_cast<double>(number);
}

// Does the same as Requantize, but slowly, for any value.
int64_t RequantizeExactly(int64_t sum, const UnitChange& units, const QuantizedRange& range);

// Returns sum * a * b / (c * divisor), rounded once to nearest, ties to even; then + zero_point,
// then clamped. If a factor is not a positive number, the quotient is that of IEEE arithmetic, and
// NaN counts as 0. |sum| < 2^53.
inline int64_t Requantize(int64_t sum, const UnitChange& units, const QuantizedRange& range) {
  const double near =
      static_cast<double>(sum) * (units.a * units.b) / (units.c * Nearest(units.divisor));
  // The last bit of a number of this size is 1, so adding it rounds to an integer.
  constexpr double kWhole = 0x1.8p52;
  constexpr double kFar = 0x1p31;
  constexpr double kSurely = 0.5 - 0x1p-18;  // from an integer; leaves room for errors at 2^31
  if (!(std::fabs(near) < kFar)) return RequantizeExactly(sum, units, range);
  const double whole = (near + kWhole) - kWhole;
  if (std::fabs(near - whole) > kSurely) return RequantizeExactly(sum, units, range);
  return std::clamp(static_cast<int64_t>(whole) + range.zero_point, range.least, range.greatest);
}

// Returns sum * a * b + bias, rounded once; a, b and the bias are FLOAT32 numbers, and a bias of -0
// changes nothing. Zeros, infinities and NaN follow IEEE arithmetic. |sum| < 2^100. T is float or
// Half.
template <typename T>
T RoundScaledSum(Int128 sum, double a, double b, double bias);

}  // namespace dmlop
