// SPDX-License-Identifier: Apache-2.0
// Functions of two elements, checked for all pairs of FLOAT16.
#pragma once

#include <cstdint>

#include "tests/reference/real_function.h"

namespace dmlop {

inline constexpr NamedFunction kPairFunctions[] = {
    {"POW", ElementWiseFunction::kPow},
    {"ATAN_YX", ElementWiseFunction::kAtanYx},
};

// Uses the current instruction set. Prints the first pairs with a wrong result, and returns the
// number of wrong results.
uint64_t CheckPairs(const NamedFunction& function);

}  // namespace dmlop
