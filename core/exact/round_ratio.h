// Quotients of exact numbers, rounded once.
#pragma once

#include "core/exact/dyadic.h"

namespace dmlop {

// Returns numerator / denominator rounded to nearest, ties to even, overflow to infinity. The
// denominator is positive. A nonzero value that rounds to zero keeps its sign; an exact zero is +0.
// T is float or Half.
template <typename T>
T RoundRatio(const Dyadic& numerator, const Dyadic& denominator);

}  // namespace dmlop
