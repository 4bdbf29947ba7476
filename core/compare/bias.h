// SPDX-License-Identifier: Apache-2.0
// The signs of the errors of a tensor: those of a right device have both, those of one that cuts
// off instead of rounding do not.
#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

namespace dmlop {

struct Bias {
  int64_t above = 0;        // elements that are greater than expected
  int64_t below = 0;        // and less
  int64_t toward_zero = 0;  // of both, those of less magnitude
};

// Takes views of equal sizes, and of equal types or two of floats. NaN is neither.
Bias BiasOf(const ConstTensorView& actual, const ConstTensorView& expected);

}  // namespace dmlop
