// SPDX-License-Identifier: Apache-2.0
// Computes rows of x * Scale + Bias.
//
// Floats: the exact value, rounded once to the type. Integers: computed in binary64, truncated
// toward zero and clamped to the type; NaN becomes 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/data_type.h"
#include "core/tensor/scale_bias.h"

namespace dmlop {

// Takes adjacent elements. `to` and `from` may be the same. If `streams`, whole lines are written
// past the caches, and other threads see them only after FlushStreams.
using ScaleBiasFunction = void (*)(const ScaleBias& scale_bias, int64_t count, std::byte* to,
                                   const std::byte* from, bool streams);

// Returns the function for a float or integer type of at most 32 bits.
ScaleBiasFunction ScaleBiasFor(DataType type);

}  // namespace dmlop
