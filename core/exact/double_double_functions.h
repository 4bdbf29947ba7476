// Elementary functions of double-double numbers, within 2^-95 of the result. They take a
// microsecond or a few: for what an approximation leaves open.
#pragma once

#include "core/exact/double_double.h"

namespace dmlop {

// Beside 1 the square of what is below this is beyond all digits.
inline constexpr double kNegligible = 0x1p-60;

// e^x for x in [-600, 600], and e to the nearer of the two for others: both are beyond what
// FLOAT32 can tell from the result.
DoubleDouble Exp(DoubleDouble x);
DoubleDouble Expm1(DoubleDouble x);

// ln x for x > 0, and ln (1 + x) for x > -1.
DoubleDouble Log(DoubleDouble x);
DoubleDouble Log1p(DoubleDouble x);

// Of |x| <= pi / 4.
DoubleDouble Sin(DoubleDouble x);
DoubleDouble Cos(DoubleDouble x);

// The angle in [0, pi] of the point (x, y), y >= 0, which is not the origin.
DoubleDouble Angle(DoubleDouble y, DoubleDouble x);

// 2 / sqrt(pi) * the integral of e^(-t * t) from 0 to x, for x in [0, 2].
DoubleDouble Erf(DoubleDouble x);

// 1 - Erf(x) for x >= 2; `square` is x * x.
DoubleDouble Erfc(DoubleDouble x, DoubleDouble square);

}  // namespace dmlop
