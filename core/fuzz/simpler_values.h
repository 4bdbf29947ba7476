// SPDX-License-Identifier: Apache-2.0
// Values of inputs that are simpler than others: all equal, 0 and 1, small integers, few non-zero.
#pragma once

#include <cstdint>
#include <vector>

#include "core/judge/computation.h"

namespace dmlop {

// A number that is lower for simpler values.
int64_t ComplexityOf(const ConstTensorView& input);

// Returns cases with other values of an input, in its layout, the simplest first. Integers become 0
// only where one is 0 already, as they may be divisors.
std::vector<Computation> WithSimplerValues(const Computation& original, size_t input);

}  // namespace dmlop
