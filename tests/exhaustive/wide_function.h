// ElementWiseFunction functions in binary64 by the C library: an evaluation that has nothing in
// common with the kernels.
#pragma once

#include <cstddef>

#include "core/exact/functions.h"

namespace dmlop {

// Each result is expected within this part of itself from the real one.
inline constexpr double kWideError = 0x1p-44;

// Of functions without parameters.
void WideFunction(ElementWiseFunction function, size_t count, double* y, const float* x);

// Of functions of two elements, the first of which is always `x`.
void WideFunctionOfPairs(ElementWiseFunction function, size_t count, double* y, double x,
                         const double* seconds);

// Whether every result is what all numbers round to that are within kWideError of `wide`.
bool AllAgree(size_t count, const float* results, const double* wide);

}  // namespace dmlop
