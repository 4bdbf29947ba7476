// SPDX-License-Identifier: Apache-2.0
// Random descriptors of any operator, covering all that its row of the table allows.
#pragma once

#include <vector>

#include "core/ops/operator.h"
#include "tests/support/entropy.h"

namespace dmlop {

// The element types in a set.
std::vector<DataType> TypesOf(DataTypeSet set);

// Draws all fields that are not set: types and ranks that the operator's newest row allows, numbers
// within the limits of their fields, strides of every form. Outputs have the sizes that follow from
// the inputs, unless the operator refuses these.
OperatorDesc DrawDesc(const Entropy& from, OperatorDesc begun);

// A number for an attribute: plain, special or any.
float RandomFactor(const Entropy& from);

}  // namespace dmlop
