// SPDX-License-Identifier: Apache-2.0
// ElementWiseFunction functions in binary64 by the C library, whose evaluation has nothing in
// common with the kernels.
#pragma once

#include <cstddef>

#include "tests/reference/real_function.h"

namespace dmlop {

// A function that is checked for every FLOAT32 element.
struct CheckedFunction : NamedFunction {
  Parameters parameters = {};
};

// The parameters are ONNX's defaults.
inline constexpr CheckedFunction kActivations[] = {
    {{"ELU", ElementWiseFunction::kElu}, {1}},
    {{"SCALED_ELU", ElementWiseFunction::kScaledElu}, {0x1.ac5d26p+0, 0x1.0cfabep+0}},
    {{"SOFTPLUS", ElementWiseFunction::kSoftplus}, {1}},
    {{"SWISH", ElementWiseFunction::kSwish}, {1}},
};

// The bound assumed for the relative error of each result.
inline constexpr double kWideError = 0x1p-44;

void WideFunction(const CheckedFunction& function, size_t count, double* y, const float* x);

// Evaluates functions of two elements, the first of which is always `x`.
void WideFunctionOfPairs(ElementWiseFunction function, size_t count, double* y, double x,
                         const double* seconds);

// Whether every result is what all numbers within kWideError of `wide` round to.
bool AllAgree(size_t count, const float* results, const double* wide);

}  // namespace dmlop
