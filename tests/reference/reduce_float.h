// SPDX-License-Identifier: Apache-2.0
// The float functions of REDUCE on one group, in exact or sufficiently precise arithmetic.
#pragma once

#include <vector>

#include "core/exact/functions.h"
#include "tests/reference/expectation.h"

namespace dmlop::reference {

// Any function except ARGMAX and ARGMIN. T is float or Half; the group is not empty.
template <typename T>
Expectation ReducedFloats(ReduceFunction function, const std::vector<T>& group);

}  // namespace dmlop::reference
