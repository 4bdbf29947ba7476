// SPDX-License-Identifier: Apache-2.0
// The inner loop of matrix products. It computes tiles of sums from panels, which interleave lines
// (rows of the first operand, columns of the second) as FLOAT64: element k of line i is at k *
// width + i.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/exact/exact_sum.h"
#include "core/tensor/data_type.h"

namespace dmlop {

// This many products are summed in one chain, and then the sums of such chains: the error bound
// depends on the longer of both.
inline constexpr int64_t kChainLength = 256;
inline constexpr int64_t kMaxPanelWidth = 24;

// The widths depend on the instruction set. Panels are aligned to 64 bytes.
struct ProductKernels {
  int64_t row_width;
  int64_t column_width;  // some vectors
  int64_t lanes;         // of a vector

  // Computes a chain of `depth` products, which begins with -0, for each sum of a tile of row_width
  // x column_width, row by row. Rows from `row_count` and columns from `column_count` on are left
  // alone or computed from what is in the panel. Meanwhile prefetches `depth` cache lines from
  // `next` on.
  using Multiply = void(int64_t depth, int64_t row_count, int64_t column_count, const double* rows,
                        const double* columns, double* sums, const double* next);
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

// --- rounding ------------------------------------------------------------------------------------

// Rounds sums with a known error bound to results, unless the bound leaves them unresolved.

// A tile of results, round(factor * sum + addend). Rows of sums and of addends are as long as the
// column width of ProductKernels, and whole vectors of them are rounded. Sum [r, c] is off by at
// most row_errors[r] * column_norms[c], or exact if that is below `exact_below`. Sums are packed.
struct RoundingCall {
  int64_t rows, columns;
  const double* sums;
  int64_t stride;  // between rows of sums
  const double* row_errors;
  const double* column_norms;
  double exact_below;
  double factor;
  const double* addends;        // null if there are none, not even zeros
  const double* addend_errors;  // null if addends are exact
  int64_t addend_stride;        // between rows; 0 if they are the same in all
  uint32_t strict_columns;      // a bit mask of the columns whose zeros and NaN are unresolved
  void* const* results;         // the place of each row
};

// Rounds the sums, and sets a bit mask of the unresolved results of each row. Numbers that are not
// finite are unresolved only in strict columns.
using RoundingFunction = void(const RoundingCall& call, uint32_t* unresolved);

// Returns the function for results of FLOAT32 or FLOAT16.
RoundingFunction* RoundingFunctionFor(DataType type);

// --- thin products -------------------------------------------------------------------------------

// Computes products of many lines with one vector, reading each element once.

// Element k of line i is at `data` + i * line_stride + k * inner_stride, in elements; one of the
// strides is 1. If the inner stride is 1, no chain of additions is longer than kChainLength,
// otherwise than `depth`. Each chain begins with -0.
struct ThinCall {
  const std::byte* data;
  int64_t lines;
  int64_t line_stride;
  int64_t depth;
  int64_t inner_stride;
  const double* vector;
  double* sums;        // the products of each line are added to these
  double* magnitudes;  // and their magnitudes to these
};
using ThinFunction = void(const ThinCall& call);

// Returns the function for FLOAT32 or FLOAT16.
ThinFunction* ThinFunctionFor(DataType type);

// Sets the product of each line with a vector, and the sum of its magnitudes, if element k of line
// i is rows[k][i]. Each chain of `depth` additions begins with -0. Reads and sets up to
// kMaxPanelWidth lines more.
using RowsFunction = void(int64_t lines, int64_t depth, const double* const* rows,
                          const double* vector, double* sums, double* magnitudes);
RowsFunction* RowsFunctionNow();

}  // namespace dmlop
