// SPDX-License-Identifier: Apache-2.0
// Numbers m * 2^e of any size with exact arithmetic, for reporting what was computed rather than
// for computing much.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/integers.h"
#include "core/exact/exact_sum.h"

namespace dmlop {

class Dyadic {
 public:
  Dyadic() = default;  // zero
  explicit Dyadic(double finite);
  explicit Dyadic(const ExactSum& sum);
  template <std::integral T>
  explicit Dyadic(T value)
      : Dyadic(value < 0,
               value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value)) {}

  explicit Dyadic(Int128 value);

  int Sign() const;  // -1, 0 or 1

  // The value is +-m * 2^exponent() with an odd m of bit_length() bits; 0 and 0 for zero.
  int64_t bit_length() const;
  int64_t exponent() const { return exponent_; }

  Dyadic TimesPowerOfTwo(int64_t power) const;

  // Rounds toward zero to binary64; the value must be in its range.
  double Truncated() const;

  // Returns every digit: "16777217", "-0.375"; or with an exponent, like "1.5e-45", if there would
  // be many zeros.
  std::string ToDecimal() const;

  friend Dyadic operator-(const Dyadic& a);
  friend Dyadic operator+(const Dyadic& a, const Dyadic& b);
  friend Dyadic operator-(const Dyadic& a, const Dyadic& b);
  friend Dyadic operator*(const Dyadic& a, const Dyadic& b);

  friend bool operator<(const Dyadic& a, const Dyadic& b) { return (a - b).Sign() < 0; }

 private:
  using Digits = std::vector<uint32_t>;  // least significant first, the last one not zero

  Dyadic(bool negative, uint64_t magnitude);
  Dyadic(bool negative, Digits digits, int64_t exponent);

  bool negative_ = false;
  Digits digits_;  // digits of m
  int64_t exponent_ = 0;
};

// Returns the greatest integer that is at most a / b. b > 0; the quotient must be in the range of
// binary64.
Dyadic FloorQuotient(const Dyadic& a, const Dyadic& b);

// Round like RoundSum in rounding.h: to nearest, ties to even. T is float or Half; the value must
// be in the range of binary64, and the denominator is positive.
template <typename T>
T RoundExact(const Dyadic& value);
template <typename T>
T RoundRatio(const Dyadic& numerator, const Dyadic& denominator);

}  // namespace dmlop
