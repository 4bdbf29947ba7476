// Values for tensors of indices.
#pragma once

#include "core/ops/operator.h"
#include "tests/support/entropy.h"
#include "tests/support/test_tensor.h"

namespace dmlop {

// Draws values of an input with indices: most of them in range, or a little outside of it, on
// either side of 0 where the type has signs; some are left as they are.
void DrawIndices(const Entropy& from, const OperatorDesc& desc, TestTensor& tensor);

// Makes most elements of a tensor corners of regions in small images.
void DrawCorners(const Entropy& from, TestTensor& tensor);

// Makes elements of a tensor of INT32, FLOAT32 or FLOAT16 whole numbers in [least, most].
void DrawNumbers(const Entropy& from, int64_t least, int64_t most, TestTensor& tensor);

}  // namespace dmlop
