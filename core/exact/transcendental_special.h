// The special values of transcendental functions: those of signed zeros, infinities, NaN, poles,
// arguments outside the domain, and parameters that leave no transcendental function.
#pragma once

#include "core/exact/transcendental.h"

namespace dmlop {

bool IsSpecial(ElementWiseFunction function, const TranscendentalArguments& arguments);

// The formula as written, in IEEE arithmetic, which is exact there. A NaN loses against a number,
// as max and min have it.
double SpecialValue(ElementWiseFunction function, const TranscendentalArguments& arguments);

}  // namespace dmlop
