// SPDX-License-Identifier: Apache-2.0
// Tensors of random layouts and values.
#pragma once

#include "tests/support/random.h"
#include "tests/support/random_layout.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

// Fills every element, mostly with values of one family and occasionally with those of another.
// Families are those of float_families.h for floats, a few small numbers, special values, and all
// bit patterns.
void FillRandomly(Engine& engine, TestTensor& tensor);

TestTensor RandomInput(Engine& engine, DataType type, const Dims& sizes);

// An output before it is written: all guard bytes.
TestTensor RandomOutput(Engine& engine, DataType type, const Dims& sizes);

}  // namespace dmlop
