// The calculation of an element-wise function that rounds.
#pragma once

#include <optional>

#include "core/explain/calculation.h"
#include "core/ops/families.h"

namespace dmlop {

// Of the element at a place; none where bits are moved or selected, and for what is not a FLOAT32
// or FLOAT16 function of elements of the same type.
std::optional<Calculation> ExplainFunction(const ElementWiseWork& work, const Region& place,
                                           DataType type, const ElementBytes& result);

}  // namespace dmlop
