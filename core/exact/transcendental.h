// SPDX-License-Identifier: Apache-2.0
// The exact meaning of transcendental functions, which resolves what the bounds of approximating
// kernels leave open.
#pragma once

#include "core/exact/double_double.h"
#include "core/exact/functions.h"

namespace dmlop {

// An element, and the other arguments of the function: the second element or parameters.
struct TranscendentalArguments {
  double x;
  double a = 0;
  double b = 0;
};

// Returns a value that rounds, once, to the right FLOAT32 or FLOAT16. `x` is any FLOAT32 value and
// so are the others; the exponent of a power may have up to 53 bits. For functions of one value the
// rounding is always right; for others unless the result is not itself a midpoint of two neighbors,
// but within 2^-90 of one.
HeadTail ExactTranscendental(ElementWiseFunction function,
                             const TranscendentalArguments& arguments);

// --- special values ------------------------------------------------------------------------------

// Returns true for signed zeros, infinities, NaN, poles, arguments outside of the domain, and
// parameters that leave no transcendental function.
bool IsSpecial(ElementWiseFunction function, const TranscendentalArguments& arguments);

// Evaluates the formula as written, in IEEE arithmetic, which is exact here. A number wins against
// NaN in max and min.
double SpecialValue(ElementWiseFunction function, const TranscendentalArguments& arguments);

}  // namespace dmlop
