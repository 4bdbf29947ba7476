// The inner loop of matrix products: tiles of sums from panels, which are lines (rows of the first
// operand, columns of the second) side by side as FLOAT64, element k of line i at k * width + i.
#pragma once

#include <cstdint>

#include "core/exact/exact_sum.h"

namespace dmlop {

// Products of this many elements are summed in one chain, and then the sums of such chains: the
// bound of the error depends on the longer of both.
inline constexpr int64_t kChainLength = 256;
inline constexpr int64_t kMaxPanelWidth = 24;

// Widths are those of the instruction set. Panels are aligned to 64 bytes.
struct ProductKernels {
  int64_t row_width;
  int64_t column_width;

  // A chain of `depth` products, which begins with -0, for each sum of a tile of row_width x
  // column_width, row by row. Rows from `row_count` on are left alone or computed from what the
  // panel has.
  using Multiply = void(int64_t depth, int64_t row_count, const double* rows, const double* columns,
                        double* sums);
  Multiply* begin_sums;   // sets the sums
  Multiply* add_to_sums;  // adds to them

  // Adds the squares of each line of a panel to `squares`.
  void (*add_squares)(int64_t depth, int64_t width, const double* panel, double* squares);

  // The greatest power of two that divides all numbers of a panel, none of them subnormal; infinity
  // where all are 0. And the greatest magnitude, which is infinity where some are not finite.
  void (*scan_bits)(int64_t count, const double* panel, double* lowest_bit, double* greatest);
};

ProductKernels ProductKernelsNow();

// The value head + tail, off by `bound` at most; -0 only if all products are, and the bound is 0.
struct PreciseSum {
  double head, tail, bound;
};

// The sum of a[i] * b[i], exact products of finite numbers, in about 106 bits.
using PreciseDotFunction = PreciseSum(int64_t count, const double* a, const double* b);
PreciseDotFunction* PreciseDotFunctionNow();

// The same in more time, which loses nothing where all bits of the products are within about 100.
PreciseDotFunction* FineDotFunctionNow();

// Adds the products a[i] * b[i], finite and exact.
using ExactDotFunction = void(int64_t count, const double* a, const double* b, ExactSum& sum);
ExactDotFunction* ExactDotFunctionNow();

}  // namespace dmlop
