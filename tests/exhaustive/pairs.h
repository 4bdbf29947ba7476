// Functions of two elements, of all pairs of FLOAT16.
#pragma once

#include <cstdint>

#include "tests/reference/real_function.h"

namespace dmlop {

inline constexpr NamedFunction kPairFunctions[] = {
    {"POW", ElementWiseFunction::kPow},
    {"ATAN_YX", ElementWiseFunction::kAtanYx},
};

// With the current instruction set. Prints the first pairs whose result is wrong, and returns how
// many there are.
uint64_t CheckPairs(const NamedFunction& function);

}  // namespace dmlop
