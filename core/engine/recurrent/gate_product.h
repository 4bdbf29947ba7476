// SPDX-License-Identifier: Apache-2.0
// The sums that gates of a recurrent network are computed from: exact sums of products of weights
// with an input and a state, rounded once to FLOAT32.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/engine/matrix/matrix_product.h"

namespace dmlop {

// Packed rows of FLOAT32 or FLOAT16 numbers.
struct PackedRows {
  const std::byte* data;
  DataType type;
  int64_t length;  // of a row
};

class GateProduct {
 public:
  // Each of `weights` has a row for each unit of the gates, and all have equally many.
  explicit GateProduct(std::span<const ConstTensorView> weights);

  int64_t units() const { return units_; }

  // Computes, for `count` rows of each of `inputs` (one input for each of the weights), the sum of
  // their products and of the addends; an addend's element for row r and unit u is at OffsetOf of
  // both. Rows of results are packed.
  void Run(int64_t count, std::span<const PackedRows> inputs,
           const std::vector<MatrixAddend>& addends, float* results) const;

 private:
  int64_t units_;
  std::vector<std::unique_ptr<ViewLines>> parts_;
  std::unique_ptr<JoinedLines> columns_;
  std::unique_ptr<PackedLines> packed_;
};

}  // namespace dmlop
