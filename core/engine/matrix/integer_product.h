// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of integers less their zero points; sums of 8 bits have 32 or 64 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/base/integers.h"
#include "core/engine/matrix/matrix_lines.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Line i has zero point i, or all lines share the only one; without any, it is 0.
inline int64_t ZeroPointAt(std::span<const int64_t> zero_points, int64_t line) {
  if (zero_points.empty()) return 0;
  return zero_points[zero_points.size() == 1 ? 0 : static_cast<size_t>(line)];
}

// The rows of the left matrix or the columns of the right one, which are INT8 or UINT8.
struct IntegerLines {
  const MatrixLines& numbers;
  std::span<const int64_t> zero_points;
};

// The layout of some matrices with each shrunk to its first element.
inline Layout MatricesOf(Layout layout) {
  for (size_t d = layout.rank() - 2; d < layout.rank(); ++d) layout.sizes[d] = 1;
  return layout;
}

// A part of a row of the product.
template <typename Sum>
struct SumRow {
  int64_t batch, row, column;  // place of the first sum
  std::span<const Sum> sums;
};
// Several threads call it.
template <typename Sum>
using SumSink = std::function<void(const SumRow<Sum>&)>;

// Passes every sum of a matrix of a batch to the sink once. Sums in int32_t wrap; those in int64_t
// are exact.
template <typename Sum>
void MultiplyIntegers(int64_t batch, const IntegerLines& rows, const IntegerLines& columns,
                      const SumSink<Sum>& sink);

// --- products of 16-bit or 32-bit integers, less their zero points -------------------------------

// Matrices in a tensor of integers: rows of the left one along its last dimension but one, columns
// of the right one along its last. Both have the same type.
struct WideMatrix {
  ConstTensorView view;
  std::span<const int64_t> zero_points;
};

// Passes every exact sum to the sink once.
void MultiplyWideIntegers(const WideMatrix& left, const WideMatrix& right,
                          const SumSink<Int128>& sink);

}  // namespace dmlop
