// The calculation of a sum of products.
#pragma once

#include "core/explain/calculation.h"
#include "core/ops/families.h"

namespace dmlop {

Calculation ExplainProducts(ProductSum sum, const OperatorDesc& op, InputViews inputs,
                            DataType type, const ElementBytes& result);

}  // namespace dmlop
