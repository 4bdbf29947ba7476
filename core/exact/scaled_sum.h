// Sums of integers as real numbers, rounded once.
#pragma once

#include "core/base/int128.h"

namespace dmlop {

// sum * a * b + bias exactly, rounded once, where a and b are numbers of FLOAT32 and the bias, if
// there is one, too. Zeros, infinities and NaN are those of IEEE arithmetic. |sum| < 2^100. T is
// float or Half.
template <typename T>
T RoundScaledSum(Int128 sum, double a, double b, const double* bias);

}  // namespace dmlop
