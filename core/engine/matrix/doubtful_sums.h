// SPDX-License-Identifier: Apache-2.0
// Computes single elements of matrix products for which the fast sum cannot decide the rounding.
#pragma once

#include <span>
#include <vector>

#include "core/engine/matrix/matrix_product.h"

namespace dmlop {

struct MatrixPlace {
  int64_t row, column;
};

// Computes the output's elements at `places`, whose order may change.
void ComputeCarefully(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                      const MatrixOutput& output, std::span<MatrixPlace> places);

}  // namespace dmlop
