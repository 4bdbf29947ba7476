// Integers that are scaled to others.
#pragma once

#include <cstdint>

#include "core/base/int128.h"

namespace dmlop {

inline constexpr int64_t kMostScaled = int64_t{1} << 20;

// sum * scale / (divisor * output_scale), exactly, to the nearest integer, ties to even; those
// beyond kMostScaled become that, with their sign. Where scales are not finite or zero, so is the
// quotient as IEEE 754 has it; NaN is 0. |sum| <= 2^48 and divisor in [0, 2^96].
int64_t RoundScaled(int64_t sum, float scale, Int128 divisor, float output_scale);

}  // namespace dmlop
