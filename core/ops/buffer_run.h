// Running an operator on buffers as DirectML has them, where elements of 4 bits are packed.
#pragma once

#include "core/ops/operator.h"

namespace dmlop {

// As Run, but views of 4-bit elements are those of buffers; see core/tensor/nibbles.h. Elements
// between those of an output keep their values.
void RunOnBuffers(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

}  // namespace dmlop
