// SPDX-License-Identifier: Apache-2.0
// Tensors of random layouts and values.
#pragma once

#include "core/fuzz/elements.h"
#include "core/fuzz/random_desc.h"
#include "tests/support/random.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

void FillRandomly(Engine& engine, TestTensor& tensor);

TestTensor RandomInput(Engine& engine, DataType type, const Dims& sizes);

// An output before it is written: all guard bytes.
TestTensor RandomOutput(Engine& engine, DataType type, const Dims& sizes);

}  // namespace dmlop
