// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of integers less their zero points; sums of 8 bits have 32 or 64 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/integers.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The rows of the left matrices or the columns of the right ones, in a form that can be packed.
class IntegerLines {
 public:
  virtual ~IntegerLines() = default;

  // Fills a panel of 16-bit numbers of kernels/matrix/integer_tile.h, which is `width` lines wide,
  // with a range of numbers of a range of lines, and pads it with 0. The range of numbers begins at
  // an even one. Numbers are less the zero point of their line or, if there is one, less `base`.
  virtual void Pack(int64_t batch, Range lines, Range numbers, int64_t width,
                    std::optional<int16_t> base, int16_t* panel) const = 0;

  virtual int64_t ZeroPoint(int64_t line) const = 0;
  virtual bool is_signed() const = 0;
};

// Matrices in a tensor of INT8 or UINT8; all dimensions but two are batch dimensions. Line i has
// zero point i, or all lines share the only one; without any, it is 0.
class IntegerMatrixLines : public IntegerLines {
 public:
  IntegerMatrixLines(const ConstTensorView& view, size_t line_dim, size_t number_dim,
                     std::span<const int64_t> zero_points);

  void Pack(int64_t batch, Range lines, Range numbers, int64_t width, std::optional<int16_t> base,
            int16_t* panel) const override;
  int64_t ZeroPoint(int64_t line) const override { return zero_points_[static_cast<size_t>(line)]; }
  bool is_signed() const override { return first_.type == DataType::kInt8; }

 private:
  ConstTensorView first_;  // of the batch: sizes are 1 along the two dimensions
  int64_t line_stride_, number_stride_;
  std::vector<int16_t> zero_points_;  // one for each line
};

struct IntegerProductShape {
  int64_t batches, rows, columns;
  int64_t depth;  // number of products in a sum
};

// A part of a row of the product.
template <typename Sum>
struct SumRow {
  int64_t batch, row, column;  // place of the first sum
  std::span<const Sum> sums;
};
// Several threads call it.
template <typename Sum>
using SumSink = std::function<void(const SumRow<Sum>&)>;

// Passes every sum to the sink once. Sums in int32_t wrap; those in int64_t are exact.
template <typename Sum>
void MultiplyIntegers(const IntegerProductShape& shape, const IntegerLines& rows,
                      const IntegerLines& columns, const SumSink<Sum>& sink);

// --- products of 16-bit or 32-bit integers, less their zero points -------------------------------

// Matrices in a tensor of integers: rows of the left one along its last dimension but one, columns
// of the right one along its last. Both have the same type. Zero points are as in
// IntegerMatrixLines.
struct WideMatrix {
  ConstTensorView view;
  std::span<const int64_t> zero_points;
};

// Passes every exact sum to the sink once.
void MultiplyWideIntegers(const WideMatrix& left, const WideMatrix& right,
                          const SumSink<Int128>& sink);

}  // namespace dmlop
