// What the operators on quantized tensors share.
#pragma once

#include "core/ops/element_wise/shared.h"

namespace dmlop::element_wise {

inline constexpr auto kQuantizedType = TypeVariable::kU;

// The integers of a type, as a function has its bounds.
void SetRange(DataType type, ElementWiseCall& call);

// Zero for every element of a layout, where there is no zero point.
ConstTensorView Zeros(DataType type, const Layout& like);

// 0 of a signed type, the number in the middle of an unsigned one.
ConstTensorView Middles(DataType type, const Layout& like);

}  // namespace dmlop::element_wise
