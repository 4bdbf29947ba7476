// The meaning of transcendental functions. Kernels approximate them, and what their bound leaves
// open is evaluated here.
#pragma once

#include "core/exact/error_free.h"
#include "core/exact/functions.h"

namespace dmlop {

// An element, and what else the function takes: the second element or parameters.
struct TranscendentalArguments {
  double x;
  double a = 0;
  double b = 0;
};

// The real result: rounded once, to FLOAT32 or FLOAT16, it is right. `x` is any FLOAT32 value and
// so are the others; the exponent of a power may have up to 53 bits. For functions of one value the
// rounding is always right; for others unless the result, not being one itself, is within 2^-90 of
// a number halfway between two neighbours.
HeadTail ExactTranscendental(ElementWiseFunction function,
                             const TranscendentalArguments& arguments);

}  // namespace dmlop
