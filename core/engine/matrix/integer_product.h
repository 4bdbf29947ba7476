// Products of two matrices of integers with 8 bits and a sign, as bytes less their zero points are,
// summed in 32 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/integers.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The rows of the left matrices, or the columns of the right ones, as numbers that can be packed.
class IntegerLines {
 public:
  virtual ~IntegerLines() = default;

  // Fills a panel of kernels/matrix/integer_tile.h that is `width` lines wide with some numbers of
  // some lines, and with 0 where those are fewer. The numbers begin at an even one.
  virtual void Pack(int64_t batch, Range lines, Range numbers, int64_t width,
                    int16_t* panel) const = 0;
};

// Matrices in a tensor of INT8 or UINT8: all dimensions but two are the batch. Line i has the zero
// point i, or all have the only one; none is 0.
class IntegerMatrixLines : public IntegerLines {
 public:
  IntegerMatrixLines(const ConstTensorView& view, size_t line_dim, size_t number_dim,
                     std::span<const int64_t> zero_points);

  void Pack(int64_t batch, Range lines, Range numbers, int64_t width,
            int16_t* panel) const override;

 private:
  ConstTensorView first_;  // of the batch, with sizes of 1 along the two dimensions
  int64_t line_stride_, number_stride_;
  std::vector<int16_t> zero_points_;  // one for each line
};

struct IntegerProductShape {
  int64_t batches, rows, columns;
  int64_t depth;  // how many products a sum has
};

// A part of a row of the product.
template <typename Sum>
struct SumRow {
  int64_t batch, row, column;  // of the first sum
  std::span<const Sum> sums;
};
// Called from several threads.
template <typename Sum>
using SumSink = std::function<void(const SumRow<Sum>&)>;

// Tells every sum once. Sums of int32_t wrap; those of int64_t are exact.
template <typename Sum>
void MultiplyIntegers(const IntegerProductShape& shape, const IntegerLines& rows,
                      const IntegerLines& columns, const SumSink<Sum>& sink);

}  // namespace dmlop
