// SPDX-License-Identifier: Apache-2.0
// Comparison with tensors of bfloat16, the type of many devices, which DirectML has not. Their
// elements are the FLOAT32 numbers whose lower half is zero, in 1/65536 as many steps.
#pragma once

#include <cstdint>
#include <memory>

#include "core/compare/alignment.h"
#include "core/compare/compare.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// FLOAT32 numbers for each step of bfloat16.
inline constexpr double kFloatStepsOfBfloat16 = 65536;

// Returns packed FLOAT32 elements: each float rounded once to the nearest bfloat16, ties to even.
std::shared_ptr<const Buffer> RoundedToBfloat16(const ConstTensorView& tensor);

// Compares tensors that have been aligned without mismatches. ULP, of the tolerance too, are those
// of bfloat16 if the tensors are compared in it.
Comparison Compare(const AlignedTensors& aligned, const Tolerance& tolerance,
                   const ComparisonDetails& details = {});

}  // namespace dmlop
