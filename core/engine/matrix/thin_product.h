// SPDX-License-Identifier: Apache-2.0
// Products with a single row, for which packing panels would take longer than the sums.
#pragma once

#include "core/engine/matrix/matrix_product.h"

namespace dmlop {

// Whether the columns can be read in place, or many of them packed at once.
bool IsThin(const MatrixLines& rows, const MatrixLines& columns);

void MultiplyThin(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                  const MatrixOutput& output);

}  // namespace dmlop
