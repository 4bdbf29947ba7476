// Sums that are off by some error, rounded to results as far as that does not leave them in doubt.
#pragma once

#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// A row of results, round(factor * sum + addend), each sum off by at most
// row_error * column_norms[i]; by nothing where that is below `exact_below`.
struct RoundingCall {
  const double* sums;
  double row_error;
  const double* column_norms;
  double exact_below;
  double factor;
  const double* addends;        // null: there are none, not even zeros
  const double* addend_errors;  // null: they are exact
  void* results;
};

// Of `count` sums, a multiple of the column width of ProductKernels; a bit for each result that is
// in doubt. Numbers that are not finite are never.
using RoundingFunction = uint32_t(int64_t count, const RoundingCall& call);

// Of results of FLOAT32 or FLOAT16.
RoundingFunction* RoundingFunctionFor(DataType type);

}  // namespace dmlop
