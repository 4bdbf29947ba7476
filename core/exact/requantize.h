// Integers in units of one scale as integers in units of another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dmlop {

// A sum in units of a * b, to be told in units of c. Products a * b must be exact in binary64, as
// those of FLOAT32 numbers are.
struct UnitChange {
  double a, b, c;
};

// What is added to the rounded number, and where the result is cut off; of up to 32 bits.
struct QuantizedRange {
  int64_t zero_point, least, greatest;
};

// As Requantize, with all care.
int64_t RequantizeCarefully(int64_t sum, const UnitChange& units, const QuantizedRange& range);

// sum * a * b / c exactly, rounded to nearest, ties to even, once; then + zero_point, then clamped.
// Where scales are no positive numbers, the quotient is that of IEEE arithmetic, and NaN counts as
// 0. |sum| < 2^53.
inline int64_t Requantize(int64_t sum, const UnitChange& units, const QuantizedRange& range) {
  const double near = static_cast<double>(sum) * (units.a * units.b) / units.c;
  // The last bit of a number of this size is 1: what is added rounds to a whole number.
  constexpr double kWhole = 0x1.8p52;
  constexpr double kFar = 0x1p31;
  constexpr double kSurely = 0.5 - 0x1p-18;  // from a whole number, as numbers of 2^31 are off
  if (!(std::fabs(near) < kFar)) return RequantizeCarefully(sum, units, range);
  const double whole = (near + kWhole) - kWhole;
  if (std::fabs(near - whole) > kSurely) return RequantizeCarefully(sum, units, range);
  return std::clamp(static_cast<int64_t>(whole) + range.zero_point, range.least, range.greatest);
}

}  // namespace dmlop
