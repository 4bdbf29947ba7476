// What the gates of a recurrent network are computed from: exact sums of the products of weights
// with an input and a state, rounded once to FLOAT32.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/engine/matrix/matrix_product.h"

namespace dmlop {

// Rows of numbers next to one another, FLOAT32 or FLOAT16.
struct PackedRows {
  const std::byte* data;
  DataType type;
  int64_t length;  // of a row
};

class GateProduct {
 public:
  // Each of `weights` has a row for each unit of the gates, the same number of them.
  explicit GateProduct(std::span<const ConstTensorView> weights);

  int64_t units() const { return units_; }

  // For `count` rows of each of `inputs`, one for each of the weights: the sums of their products,
  // and of the addends, of which row r, unit u is at OffsetOf of both. Rows of results are next to
  // one another.
  void Run(int64_t count, std::span<const PackedRows> inputs,
           const std::vector<MatrixAddend>& addends, float* results) const;

 private:
  int64_t units_;
  std::vector<std::unique_ptr<ViewLines>> parts_;
  std::unique_ptr<JoinedLines> columns_;
  std::unique_ptr<PackedLines> packed_;
};

}  // namespace dmlop
