// The calculation of an element-wise function that rounds, or whose integers may wrap.
#pragma once

#include <optional>

#include "core/explain/calculation.h"
#include "core/ops/families.h"

namespace dmlop {

// Of the element at a place; none where bits are moved or selected, and for what is not a function
// of elements of the same type: FLOAT32, FLOAT16 or, of sums, products and the like, an integer.
std::optional<Calculation> ExplainFunction(const ElementWiseWork& work, const Region& place,
                                           DataType type, const ElementBytes& result);

}  // namespace dmlop
