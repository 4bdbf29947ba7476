// Transcendental functions in binary64 by the C library: an evaluation that has nothing in common
// with the kernels.
#pragma once

#include <cstddef>

#include "core/exact/transcendental.h"

namespace dmlop {

// Each result is expected within this part of itself from the real one.
inline constexpr double kWideError = 0x1p-44;

// Of functions without parameters.
void WideFunction(Transcendental function, size_t count, double* y, const float* x);

// Whether every result is what all numbers round to that are within kWideError of `wide`.
bool AllAgree(size_t count, const float* results, const double* wide);

}  // namespace dmlop
