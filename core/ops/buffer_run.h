// SPDX-License-Identifier: Apache-2.0
// Runs operators on buffers as DirectML has them, in which 4-bit elements are packed.
#pragma once

#include "core/ops/operator.h"

namespace dmlop {

// Like Run, but views of 4-bit elements describe buffers; see core/tensor/nibbles.h. Bytes between
// the elements of an output keep their values.
void RunOnBuffers(const OperatorDesc& op, InputViews inputs, OutputViews outputs);

}  // namespace dmlop
