// One value along the diagonals of matrices.
#pragma once

#include <cstdint>

#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Elements of matrices, the last two dimensions of a tensor, by column - row: those from `begin` to
// before `end`, or all others.
struct DiagonalBand {
  int64_t begin, end;  // begin <= end
  bool is_outside;
  ElementBytes value;  // that they have

  bool Has(int64_t row, int64_t column) const {
    const int64_t diagonal = column - row;
    return (begin <= diagonal && diagonal < end) != is_outside;
  }
};

// Writes the band's elements of a part of a tensor whose first element is at `row` and `column` of
// its matrix. Others keep their value.
void FillBand(const DiagonalBand& band, int64_t row, int64_t column, const TensorView& part);

}  // namespace dmlop
