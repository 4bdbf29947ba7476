// SPDX-License-Identifier: Apache-2.0
// Fills diagonals of matrices with one value.
#pragma once

#include <cstdint>

#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A band of matrices, which are the last two dimensions of a tensor: the elements with column - row
// in [begin, end), or all others if it `is_outside`.
struct DiagonalBand {
  int64_t begin, end;  // begin <= end
  bool is_outside;
  ElementBytes value;  // value of the band's elements

  bool Has(int64_t row, int64_t column) const {
    const int64_t diagonal = column - row;
    return (begin <= diagonal && diagonal < end) != is_outside;
  }
};

// Writes the band's elements in a part of a tensor whose first element is at `row` and `column` of
// its matrix. Other elements keep their values.
void FillBand(const DiagonalBand& band, int64_t row, int64_t column, const TensorView& part);

}  // namespace dmlop
