// Where elements are that are not zero.
#pragma once

#include "core/tensor/tensor.h"

namespace dmlop {

// Writes the last coordinates of each element that is not zero, in row-major order, into a row of
// `coordinates`, and zeros into the rows that are left; into `count` how many there are. -0 is
// zero, NaN is not. Both outputs are UINT32; the last two sizes of the coordinates are those of the
// rows.
void FindNonzero(const ConstTensorView& input, const TensorView& count,
                 const TensorView& coordinates);

}  // namespace dmlop
