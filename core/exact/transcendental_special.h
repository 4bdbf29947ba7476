// The special values of transcendental functions, for signed zeros, infinities, NaN, poles,
// arguments outside of the domain, and parameters that leave no transcendental function.
#pragma once

#include "core/exact/transcendental.h"

namespace dmlop {

bool IsSpecial(ElementWiseFunction function, const TranscendentalArguments& arguments);

// Evaluates the formula as written, in IEEE arithmetic, which is exact here. A number wins against
// NaN in max and min.
double SpecialValue(ElementWiseFunction function, const TranscendentalArguments& arguments);

}  // namespace dmlop
