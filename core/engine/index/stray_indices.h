// SPDX-License-Identifier: Apache-2.0
// Finds indices outside the dimension that they index.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/tensor/tensor.h"

namespace dmlop {

struct StrayIndices {
  int64_t count = 0;
  int64_t first = 0;        // row-major number of the first one
  std::string first_value;  // in decimal
};

// The k-th index of a row-major walk belongs to a dimension of size sizes[k % sizes.size()].
StrayIndices FindStrayIndices(const ConstTensorView& indices, std::span<const int64_t> sizes);

}  // namespace dmlop
