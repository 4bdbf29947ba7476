// Products of two matrices of integers of 16 or 32 bits, less their zero points.
#pragma once

#include <span>

#include "core/base/integers.h"
#include "core/engine/matrix/integer_product.h"

namespace dmlop {

// Matrices in tensors of one integer type: rows of the left one along its last dimension but one,
// columns of the right one along its last. Zero points as those of IntegerMatrixLines.
struct WideMatrix {
  ConstTensorView view;
  std::span<const int64_t> zero_points;
};

// Tells every sum once, exactly.
void MultiplyWideIntegers(const WideMatrix& left, const WideMatrix& right,
                          const SumSink<Int128>& sink);

}  // namespace dmlop
