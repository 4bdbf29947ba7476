// SPDX-License-Identifier: Apache-2.0
// The inner loop of matrix products. It computes tiles of sums from panels, which interleave lines
// (rows of the first operand, columns of the second) as FLOAT64: element k of line i is at k *
// width + i.
#pragma once

#include <cstdint>

#include "core/exact/exact_sum.h"

namespace dmlop {

// This many products are summed in one chain, and then the sums of such chains: the error bound
// depends on the longer of both.
inline constexpr int64_t kChainLength = 256;
inline constexpr int64_t kMaxPanelWidth = 24;

// The widths depend on the instruction set. Panels are aligned to 64 bytes.
struct ProductKernels {
  int64_t row_width;
  int64_t column_width;

  // Computes a chain of `depth` products, which begins with -0, for each sum of a tile of row_width
  // x column_width, row by row. Rows from `row_count` on are left alone or computed from what is in
  // the panel.
  using Multiply = void(int64_t depth, int64_t row_count, const double* rows, const double* columns,
                        double* sums);
  Multiply* begin_sums;   // sets the sums
  Multiply* add_to_sums;  // adds to them

  // Adds the squares of each line of a panel to `squares`.
  void (*add_squares)(int64_t depth, int64_t width, const double* panel, double* squares);

  // Finds the greatest power of two that divides all numbers of a panel, none of them subnormal, or
  // infinity if all are 0; and the greatest magnitude, or infinity if a number is not finite.
  void (*scan_bits)(int64_t count, const double* panel, double* lowest_bit, double* greatest);
};

ProductKernels ProductKernelsNow();

// The value head + tail, off by at most `bound`; -0 only if all products are -0 and the bound is 0.
struct PreciseSum {
  double head, tail, bound;
};

// Returns the sum of a[i] * b[i], exact products of finite numbers, in about 106 bits.
using PreciseDotFunction = PreciseSum(int64_t count, const double* a, const double* b);
PreciseDotFunction* PreciseDotFunctionNow();

// Does the same more slowly, and loses nothing if all bits of the products are within about 100.
PreciseDotFunction* FineDotFunctionNow();

// Adds the products a[i] * b[i], which are finite and exact.
using ExactDotFunction = void(int64_t count, const double* a, const double* b, ExactSum& sum);
ExactDotFunction* ExactDotFunctionNow();

}  // namespace dmlop
