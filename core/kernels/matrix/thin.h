// Products of many lines with one vector, which read each element once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// Element k of line i is at `data` + i * line_stride + k * inner_stride, in elements; one of the
// strides is 1. No sum is made of longer chains than of `depth` products.
struct ThinCall {
  const std::byte* data;
  int64_t lines;
  int64_t line_stride;
  int64_t depth;
  int64_t inner_stride;
  const double* vector;
  double* sums;        // of the products of each line
  double* magnitudes;  // of their magnitudes
};
using ThinFunction = void(const ThinCall& call);

// Of FLOAT32 or FLOAT16.
ThinFunction* ThinFunctionFor(DataType type);

}  // namespace dmlop
