// SPDX-License-Identifier: Apache-2.0
// Sums and products of integers modulo 2^width, which are the same in any order. They have the same
// bits for signed integers, so the kernels take all for unsigned ones.
#pragma once

#include <cstdint>

namespace dmlop {

// Magnitudes are those of signed integers.
enum class IntegerFold { kSum, kSumOfMagnitudes, kSumOfSquares, kProduct };

// The fold of no elements.
constexpr int StartOf(IntegerFold fold) {
  return fold == IntegerFold::kProduct ? 1 : 0;
}

// Combines the folds of two parts.
template <typename T>
constexpr T MergeFolds(IntegerFold fold, T a, T b) {
  return fold == IntegerFold::kProduct ? a * b : a + b;
}

template <typename T>
struct IntegerFoldKernels {
  // Folds `count` adjacent elements into *state.
  void (*fold_row)(const T* x, int64_t count, T* state);

  // Folds `rows` rows, `row_stride` elements apart, of `columns` adjacent elements, one into each
  // state.
  void (*fold_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* states);
};

// T is uint32_t or uint64_t.
template <typename T>
IntegerFoldKernels<T> IntegerFoldKernelsFor(IntegerFold fold);

}  // namespace dmlop
