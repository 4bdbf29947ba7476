// Values that depend on nothing but their place.
#pragma once

#include "core/kernels/element_wise/row.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Element number k in row-major order is start + k * delta: numbers 0 and 1 of the parameters,
// rounded once, or the integers, modulo 2^width. The output has no 4-bit type, and at most 2^50
// elements.
void FillSequence(const ElementParameters& parameters, const TensorView& output);

}  // namespace dmlop
