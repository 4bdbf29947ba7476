// The calculation of a weighted sum.
#pragma once

#include <optional>
#include <string_view>

#include "core/explain/calculation.h"
#include "core/ops/families.h"

namespace dmlop {

// `source` is of a view whose strides count the elements of its sizes. None where bits are only
// moved, or where there are too many terms to be told.
std::optional<Calculation> ExplainWeights(const WeightedSource& source, std::string_view name,
                                          const ConstTensorView& input, const Dims& index,
                                          const ElementBytes& result);

}  // namespace dmlop
