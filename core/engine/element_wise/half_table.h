// SPDX-License-Identifier: Apache-2.0
// Computes functions of FLOAT16 by a table: there are only 65,536 arguments.
#pragma once

#include "core/engine/element_wise/loop.h"

namespace dmlop {

// Whether computing and using a table of all results takes less time than the function itself.
bool PaysHalfTable(const ElementWiseCall& call, std::span<const ConstTensorView> inputs,
                   const TensorView& output);

// The call has one input.
void ComputeByHalfTable(const ElementWiseCall& call, const ConstTensorView& input,
                        const TensorView& output);

}  // namespace dmlop
