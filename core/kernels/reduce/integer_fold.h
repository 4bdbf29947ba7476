// SPDX-License-Identifier: Apache-2.0
// Sums and products of integers modulo 2^width, which are the same in any order.
#pragma once

#include <cstdint>
#include <type_traits>

namespace dmlop {

enum class IntegerFold { kSum, kSumOfMagnitudes, kSumOfSquares, kProduct };

// The fold of no elements.
constexpr int StartOf(IntegerFold fold) {
  return fold == IntegerFold::kProduct ? 1 : 0;
}

// Combines the folds of two parts.
template <typename T>
constexpr T MergeFolds(IntegerFold fold, T a, T b) {
  using Number = std::make_unsigned_t<T>;  // wraps around to the bits that T would have
  const Number x = static_cast<Number>(a);
  const Number y = static_cast<Number>(b);
  return static_cast<T>(fold == IntegerFold::kProduct ? x * y : x + y);
}

template <typename T>
struct IntegerFoldKernels {
  // Folds `count` adjacent elements into *state.
  void (*fold_row)(const T* x, int64_t count, T* state);

  // Folds `rows` rows, `row_stride` elements apart, of `columns` adjacent elements, one into each
  // state.
  void (*fold_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns, T* states);
};

// T is an integer of 32 or 64 bits.
template <typename T>
IntegerFoldKernels<T> IntegerFoldKernelsFor(IntegerFold fold);

}  // namespace dmlop
