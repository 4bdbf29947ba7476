// SPDX-License-Identifier: Apache-2.0
// Values that depend only on their place.
#pragma once

#include "core/kernels/element_wise/row.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Element number k is start + k * delta, rounded once, or modulo 2^width for integers; `start` and
// `delta` are numbers 0 and 1 of the parameters. The output's first element has the number `first`,
// and `steps` are the differences between the numbers of neighbours along each dimension. Numbers
// are less than 2^50.
void FillSequence(const ElementParameters& parameters, int64_t first, const Dims& steps,
                  const TensorView& output);

}  // namespace dmlop
