// The one rounding at the end of an exact computation: to nearest, ties to even, subnormals kept,
// overflow to infinity. A nonzero value that rounds to zero keeps its sign; an exact zero is +0.
#pragma once

#include <cstdint>

#include "core/exact/exact_sum.h"

namespace dmlop {

// Rounds the sum. T is float, Half or double.
template <typename T>
T RoundSum(const ExactSum& sum);

// Rounds sum / divisor, divisor in [1, 2^33]; every term of the sum is a multiple of 2^-298. T is
// float or Half.
template <typename T>
T RoundQuotient(const ExactSum& sum, uint64_t divisor);

// Rounds the square root of a sum that is not negative. T is float or Half.
template <typename T>
T RoundSquareRoot(const ExactSum& sum);

// Rounds head + tail, where |tail| is at most half a unit in the last place of head. The tail of an
// infinity or NaN is ignored; NaN becomes the canonical NaN of T. T is float or Half.
template <typename T>
T RoundOnce(double head, double tail = 0);

}  // namespace dmlop
