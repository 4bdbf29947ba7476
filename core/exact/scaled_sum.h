// SPDX-License-Identifier: Apache-2.0
// Scales sums of integers to other integers or to real numbers: exactly, and rounded once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/base/integers.h"

namespace dmlop {

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

// Does the same as Requantize, but slowly, for any value.
int64_t RequantizeCarefully(int64_t sum, const UnitChange& units, const QuantizedRange& range);

// Returns sum * a * b / (c * divisor), rounded once to nearest, ties to even; then + zero_point,
// then clamped. If a factor is not a positive number, the quotient is that of IEEE arithmetic, and
// NaN counts as 0. |sum| < 2^53.
inline int64_t Requantize(int64_t sum, const UnitChange& units, const QuantizedRange& range) {
  const double near = static_cast<double>(sum) * (units.a * units.b) /
                      (units.c * static_cast<double>(units.divisor));
  // The last bit of a number of this size is 1, so adding it rounds to an integer.
  constexpr double kWhole = 0x1.8p52;
  constexpr double kFar = 0x1p31;
  constexpr double kSurely = 0.5 - 0x1p-18;  // from an integer; leaves room for errors at 2^31
  if (!(std::fabs(near) < kFar)) return RequantizeCarefully(sum, units, range);
  const double whole = (near + kWhole) - kWhole;
  if (std::fabs(near - whole) > kSurely) return RequantizeCarefully(sum, units, range);
  return std::clamp(static_cast<int64_t>(whole) + range.zero_point, range.least, range.greatest);
}

// Returns sum * a * b + bias, rounded once; a, b and the bias are FLOAT32 numbers, and a bias of -0
// changes nothing. Zeros, infinities and NaN follow IEEE arithmetic. |sum| < 2^100. T is float or
// Half.
template <typename T>
T RoundScaledSum(Int128 sum, double a, double b, double bias);

}  // namespace dmlop
