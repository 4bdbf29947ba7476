// Element-wise work where some operands have one element for each block of the output's.
#pragma once

#include <span>

#include "core/ops/family.h"

namespace dmlop {

// Whether an operand has other sizes than the output as a whole.
bool HaveBlocks(std::span<const ConstTensorView> operands, const Dims& output_sizes);

// Computes a part of an output into a view of that part's sizes. In each dimension the sizes of all
// operands that have blocks are equal, and divide the output's.
void ComputeInBlocks(const ElementWiseCall& call, std::span<const ConstTensorView> operands,
                     const Dims& output_sizes, const Region& part, const TensorView& output);

}  // namespace dmlop
