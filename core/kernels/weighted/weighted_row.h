// Weighted sums side by side: exact in binary64 where weights have few bits, else with a bound that
// tells whether their rounding is unresolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dmlop {

struct WeightedTap {
  int64_t offset;
  double part;  // greater than 0
};

inline constexpr size_t kColumnRoom = 16;

// Elements side by side.
struct ColumnRun {
  int64_t offset;
  int64_t count;
};

// Of the columns of some runs are made sums over the outer taps; result i is the sum over t of
// parts[t * count + i] * column[places[t * count + i]], divided by whole * wholes[i].
template <typename T>
struct WeightedRow {
  const T* x;
  std::span<const WeightedTap> outer;
  std::span<const ColumnRun> runs;
  double* scratch;  // for all columns, one more, which is 0, and kColumnRoom behind them
  int64_t count;    // results
  int64_t taps;     // of a result, besides the outer ones
  const int32_t* places;
  const uint8_t* rise;  // whether the places of a tap do not fall
  const double* parts;
  double whole;
  const double* wholes;
  double most_sum;  // of products of parts of a result
  // Sums are exact where the largest |x| is at most this times the power of two below the smallest
  // one; and so are the products of wholes.
  double exact_range;
  double relative_error;  // of sums that are not exact, and of what they are divided by
  bool divides;           // wholes are not all 1
};

// Stores each result, rounded or, for integers, truncated, or sets its `unresolved` to 1, which is
// 0 before. Returns whether there are such.
template <typename T>
using WeightedRowKernel = bool(const WeightedRow<T>& row, T* results, uint8_t* unresolved);

// T is float, Half, int8_t or uint8_t.
template <typename T>
WeightedRowKernel<T>* WeightedRowKernelFor();

}  // namespace dmlop
