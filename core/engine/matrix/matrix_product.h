// SPDX-License-Identifier: Apache-2.0
// Products of matrices, exactly rounded once:
//
//   Output[i, j] = round(factor * sum over k of Rows[i][k] * Columns[j][k]
//                        + sum of Addends[i, j])
//
// The value is the exact one of the whole formula, rounded to nearest, ties to even, to the
// output's type; so no order of sums, number of threads or layout ever changes a bit. Infinities,
// NaN and signs of zeros are those of IEEE 754 on exact numbers (DOT-1 to DOT-4). Elements that are
// absent add no term, and a sum without any is +0.
//
// Several products in one sum are one product of lines that ViewLines lays end to end. A bias may
// be an addend with stride 0, or an element of the lines opposite a 1.
#pragma once

#include <vector>

#include "core/engine/matrix/matrix_lines.h"

namespace dmlop {

// Element [i, j] of a matrix is at OffsetOf(rows, i) + OffsetOf(columns, j). Rows and columns may
// each be several dimensions of a tensor.
template <typename Byte>
struct BasicMatrixPlaces {
  Byte* data;
  DataType type;
  Layout rows;
  Layout columns;
};

// A term of each sum, factor * element. Elements are FLOAT32 or FLOAT16 with a FLOAT32 factor, or
// FLOAT64 with the factor 1; finite FLOAT64 elements must be 0 or from 2^-298 to 2^257.
struct MatrixAddend {
  BasicMatrixPlaces<const std::byte> at;
  float factor = 1;
};

// The output is FLOAT32 or FLOAT16, whatever the types of the lines.
using MatrixOutput = BasicMatrixPlaces<std::byte>;

struct MatrixTerms {
  float factor = 1;
  std::vector<MatrixAddend> addends;
};

// Runs in parallel if that pays. `rows` and `columns` have equal lengths of at least 1.
void MultiplyMatrices(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                      const MatrixOutput& output);

// As above, with all of `columns` packed beforehand. That takes two or four times the memory of
// their elements and serves any number of products.
void MultiplyMatrices(const MatrixLines& rows, const MatrixLines& columns,
                      const PackedLines& packed_columns, const MatrixTerms& terms,
                      const MatrixOutput& output);

// Returns whether there is a single row, for which packing panels would take longer than the sums,
// and the columns can be read in place or many of them packed at once.
bool IsThin(const MatrixLines& rows, const MatrixLines& columns);

void MultiplyThin(const MatrixLines& rows, const MatrixLines& columns, const MatrixTerms& terms,
                  const MatrixOutput& output);

}  // namespace dmlop
