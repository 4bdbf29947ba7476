// Scales sums of integers to real numbers, rounded once.
#pragma once

#include "core/base/int128.h"

namespace dmlop {

// Returns sum * a * b + bias, computed exactly and rounded once; a, b and the bias, if any, are
// FLOAT32 numbers. Zeros, infinities and NaN follow IEEE arithmetic. |sum| < 2^100. T is float or
// Half.
template <typename T>
T RoundScaledSum(Int128 sum, double a, double b, const double* bias);

}  // namespace dmlop
