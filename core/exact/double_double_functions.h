// SPDX-License-Identifier: Apache-2.0
// Elementary functions of double-double numbers, within 2^-95 of the result. Each takes a few
// microseconds, so they only resolve what an approximation leaves open.
#pragma once

#include "core/exact/double_double.h"

namespace dmlop {

// The square of a smaller number is negligible compared with 1.
inline constexpr double kNegligible = 0x1p-60;

// Return e^x and e^x - 1 for x clamped to [-600, 600]; FLOAT32 cannot tell the results beyond
// apart.
DoubleDouble Exp(DoubleDouble x);
DoubleDouble Expm1(DoubleDouble x);

// Return ln x for x > 0, and ln(1 + x) for x > -1.
DoubleDouble Log(DoubleDouble x);
DoubleDouble Log1p(DoubleDouble x);

// Take |x| <= pi / 4.
DoubleDouble Sin(DoubleDouble x);
DoubleDouble Cos(DoubleDouble x);

// Returns the angle in [0, pi] of the point (x, y), y >= 0, which is not the origin.
DoubleDouble Angle(DoubleDouble y, DoubleDouble x);

// Returns 2 / sqrt(pi) * the integral of e^(-t * t) from 0 to x, for x in [0, 2].
DoubleDouble Erf(DoubleDouble x);

// Returns 1 - Erf(x) for x >= 2; `square` is x * x.
DoubleDouble Erfc(DoubleDouble x, DoubleDouble square);

}  // namespace dmlop
