// SPDX-License-Identifier: Apache-2.0
// Element-wise work with operands that have one element for each block of the output.
#pragma once

#include <span>

#include "core/ops/family.h"

namespace dmlop {

// Returns whether an operand has other sizes than the first one, which has the whole output's.
bool HaveBlocks(std::span<const ConstTensorView> operands);

// Computes a part of an output into a view of that part's sizes. In each dimension all operands
// with blocks have the same size, which divides the output's.
void ComputeInBlocks(const ElementWiseCall& call, std::span<const ConstTensorView> operands,
                     const Region& part, const TensorView& output);

}  // namespace dmlop
