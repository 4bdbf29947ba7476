// Single elements of matrix products with all the care that it takes.
#pragma once

#include <span>
#include <vector>

#include "core/engine/matrix/matrix_product.h"

namespace dmlop {

struct MatrixPlace {
  int64_t row, column;
};

// Computes elements of the output. `places` are put into another order.
void ComputeCarefully(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                      const MatrixOutput& output, std::span<MatrixPlace> places);

}  // namespace dmlop
