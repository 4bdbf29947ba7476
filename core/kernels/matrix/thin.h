// SPDX-License-Identifier: Apache-2.0
// Computes products of many lines with one vector, reading each element once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// Element k of line i is at `data` + i * line_stride + k * inner_stride, in elements; one of the
// strides is 1. If the inner stride is 1, no chain of additions is longer than kChainLength,
// otherwise than `depth`. Each chain begins with -0.
struct ThinCall {
  const std::byte* data;
  int64_t lines;
  int64_t line_stride;
  int64_t depth;
  int64_t inner_stride;
  const double* vector;
  double* sums;        // the products of each line are added to these
  double* magnitudes;  // and their magnitudes to these
};
using ThinFunction = void(const ThinCall& call);

// Returns the function for FLOAT32, FLOAT16 or, in lines that have been packed, FLOAT64.
ThinFunction* ThinFunctionFor(DataType type);

}  // namespace dmlop
