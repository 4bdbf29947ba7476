// SPDX-License-Identifier: Apache-2.0
// Shared by the operators on quantized tensors.
#pragma once

#include "core/ops/element_wise/shared.h"

namespace dmlop::element_wise {

inline constexpr auto kQuantizedType = TypeVariable::kU;

// Sets the bounds of a function to the range of an integer type.
void SetRange(DataType type, ElementWiseCall& call);

// Zeros for every element of a layout, in place of zero points.
ConstTensorView Zeros(DataType type, const Layout& like);

// Likewise, but the middle of the range of an unsigned type; 0 for a signed one.
ConstTensorView Middles(DataType type, const Layout& like);

}  // namespace dmlop::element_wise
