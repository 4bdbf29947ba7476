// SPDX-License-Identifier: Apache-2.0
// The oracle of transcendental functions: one element as the reference page defines it, by MPFR.
#pragma once

#include "tests/reference/real_function.h"

namespace dmlop::reference {

// T is float or Half; for functions of two elements, the second element is the first parameter.
template <typename T>
T ExpectedElement(ElementWiseFunction function, double x, Parameters parameters = {});

}  // namespace dmlop::reference
