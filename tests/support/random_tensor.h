// Tensors of random layouts and values.
#pragma once

#include "tests/support/random.h"
#include "tests/support/random_layout.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

// Fills every element: mostly with values of one family, with some of another strewn in. Families
// are those of float_families.h for floats, few small numbers, special values and all bit patterns.
void FillRandomly(Engine& engine, TestTensor& tensor);

TestTensor RandomInput(Engine& engine, DataType type, const Dims& sizes);

// An output to be written: all guards.
TestTensor RandomOutput(Engine& engine, DataType type, const Dims& sizes);

}  // namespace dmlop
