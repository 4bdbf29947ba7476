// Products with one row only, which would spend more on panels than on sums.
#pragma once

#include "core/engine/matrix/matrix_product.h"

namespace dmlop {

// Whether the columns may be read as they are, or many of them packed at once.
bool IsThin(const MatrixLines& rows, const MatrixLines& columns);

void MultiplyThin(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                  const MatrixOutput& output);

}  // namespace dmlop
