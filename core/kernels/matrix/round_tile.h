// SPDX-License-Identifier: Apache-2.0
// Rounds sums with a known error bound to results, unless the bound leaves them in doubt.
#pragma once

#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// A row of results, round(factor * sum + addend). Each sum is off by at most row_error *
// column_norms[i], or exact if that is below `exact_below`.
struct RoundingCall {
  const double* sums;
  double row_error;
  const double* column_norms;
  double exact_below;
  double factor;
  const double* addends;        // null if there are none, not even zeros
  const double* addend_errors;  // null if addends are exact
  void* results;
};

// Rounds `count` sums, a multiple of the column width of ProductKernels, and returns a bit for each
// result in doubt. Numbers that are not finite are never in doubt.
using RoundingFunction = uint32_t(int64_t count, const RoundingCall& call);

// Returns the function for results of FLOAT32 or FLOAT16.
RoundingFunction* RoundingFunctionFor(DataType type);

}  // namespace dmlop
