// Values that depend on nothing but their place.
#pragma once

#include "core/kernels/element_wise/row.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Element number k is start + k * delta: numbers 0 and 1 of the parameters, rounded once, or the
// integers, modulo 2^width. The first element of the output is number `first`, and `steps` say how
// far the numbers of neighbours along each dimension are apart. Numbers are less than 2^50.
void FillSequence(const ElementParameters& parameters, int64_t first, const Dims& steps,
                  const TensorView& output);

}  // namespace dmlop
