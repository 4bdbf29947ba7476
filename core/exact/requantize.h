// Converts integers in units of one scale to integers in units of another.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace dmlop {

// Converts a sum in units of a * b to units of c. Products a * b must be exact in binary64, as
// those of FLOAT32 numbers are.
struct UnitChange {
  double a, b, c;
};

// The number that is added after rounding, and the bounds of the result; of up to 32 bits.
struct QuantizedRange {
  int64_t zero_point, least, greatest;
};

// Does the same as Requantize, but slowly, for any value.
int64_t RequantizeCarefully(int64_t sum, const UnitChange& units, const QuantizedRange& range);

// Returns sum * a * b / c, rounded once to nearest, ties to even; then + zero_point, then clamped.
// If a scale is not a positive number, the quotient is that of IEEE arithmetic, and NaN counts as
// 0. |sum| < 2^53.
inline int64_t Requantize(int64_t sum, const UnitChange& units, const QuantizedRange& range) {
  const double near = static_cast<double>(sum) * (units.a * units.b) / units.c;
  // The last bit of a number of this size is 1, so adding it rounds to an integer.
  constexpr double kWhole = 0x1.8p52;
  constexpr double kFar = 0x1p31;
  constexpr double kSurely = 0.5 - 0x1p-18;  // from an integer; leaves room for errors at 2^31
  if (!(std::fabs(near) < kFar)) return RequantizeCarefully(sum, units, range);
  const double whole = (near + kWhole) - kWhole;
  if (std::fabs(near - whole) > kSurely) return RequantizeCarefully(sum, units, range);
  return std::clamp(static_cast<int64_t>(whole) + range.zero_point, range.least, range.greatest);
}

}  // namespace dmlop
