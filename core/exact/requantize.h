// Integers in units of one scale as integers in units of another.
#pragma once

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

// sum * a * b / c exactly, rounded to nearest, ties to even, once; then + zero_point, then clamped.
// Where scales are no positive numbers, the quotient is that of IEEE arithmetic, and NaN counts as
// 0. |sum| < 2^53.
int64_t Requantize(int64_t sum, const UnitChange& units, const QuantizedRange& range);

}  // namespace dmlop
