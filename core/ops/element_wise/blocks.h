// Element-wise work where some operands have one element for each block of the output's.
#pragma once

#include <span>

#include "core/ops/family.h"

namespace dmlop {

// Whether an operand has other sizes than the first one, which has those of the whole output.
bool HaveBlocks(std::span<const ConstTensorView> operands);

// Computes a part of an output into a view of that part's sizes. In each dimension the sizes of all
// operands that have blocks are equal, and divide the output's.
void ComputeInBlocks(const ElementWiseCall& call, std::span<const ConstTensorView> operands,
                     const Region& part, const TensorView& output);

}  // namespace dmlop
