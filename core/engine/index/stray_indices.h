// Indices that lie outside of the dimension that they index.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/tensor/tensor.h"

namespace dmlop {

struct StrayIndices {
  int64_t count = 0;
  int64_t first = 0;        // its number in row-major order
  std::string first_value;  // as a decimal
};

// The k-th index of a row-major walk is one along a dimension of sizes[k % sizes.size()].
StrayIndices FindStrayIndices(const ConstTensorView& indices, std::span<const int64_t> sizes);

}  // namespace dmlop
