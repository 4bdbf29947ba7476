// SPDX-License-Identifier: Apache-2.0
// Tensors written out in the text of a test.
#pragma once

#include <string>
#include <vector>

#include "tests/support/test_tensor.h"

namespace dmlop {

struct Literal {
  DataType type;
  Dims sizes;
  std::vector<double> memory;  // in address order, including gaps
  Dims strides = {};           // empty if packed
};

TestTensor ToTensor(const Literal& literal);

// The memory from the first to the last element as hexadecimal bits: "3F800000 40000000".
std::string MemoryOf(const TestTensor& tensor);

// The FLOAT32 with these bits.
double FromFloatBits(uint32_t bits);

}  // namespace dmlop
