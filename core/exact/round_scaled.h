// Scales integers to other integers.
#pragma once

#include <cstdint>

#include "core/base/int128.h"

namespace dmlop {

inline constexpr int64_t kMostScaled = int64_t{1} << 20;

// Returns sum * scale / (divisor * output_scale), computed exactly and rounded to the nearest
// integer, ties to even, with a magnitude of at most kMostScaled. If a scale is zero or not finite,
// the quotient follows IEEE 754, and NaN becomes 0. |sum| <= 2^48 and divisor in [0, 2^96].
int64_t RoundScaled(int64_t sum, float scale, Int128 divisor, float output_scale);

}  // namespace dmlop
