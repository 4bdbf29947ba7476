// SPDX-License-Identifier: Apache-2.0
// Computes adjacent weighted sums: exact in binary64 if weights have few bits, otherwise with a
// bound that tells whether their rounding is unresolved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/integers.h"

namespace dmlop {

struct WeightedTap {
  int64_t offset;
  double part;  // greater than 0
};

inline constexpr size_t kColumnRoom = 16;

// Adjacent elements.
struct AdjacentColumns {
  int64_t offset;
  int64_t count;
};

// The places of two taps, the second one column after the first, from one result to the next.
enum class TapPattern : uint8_t {
  kOther,
  kNeighbours,  // they stay, or grow by 1, as where tensors are enlarged
  kPairs,       // they grow by 2, as where sizes are halved
};

// The columns of the runs are summed over the outer taps; result i is the sum over t of parts[t *
// pitch + i] * column[places[t * pitch + i]], divided by whole * wholes[i].
template <typename T>
struct WeightedRow {
  const T* x;
  std::span<const WeightedTap> outer;
  std::span<const AdjacentColumns> runs;
  double* scratch;  // room for all columns, one more, which is 0, and then kColumnRoom
  int64_t count;    // number of results
  int64_t pitch;    // from one tap's places and parts to the next one's
  int64_t taps;     // number of taps of a result, besides the outer ones
  const int32_t* places;
  TapPattern pattern;
  Range patterned;          // the results whose places follow the pattern
  const uint8_t* are_near;  // whether a tap's places grow by at most 2 from one result to the next
  const double* parts;
  double whole;
  const double* wholes;
  double inverse;  // those of the wholes, rounded
  const double* inverses;
  double most_sum;  // largest sum of products of parts of a result
  // Sums are exact if the largest |x| is at most this times the power of two at or below the
  // smallest one; products of wholes are then exact, too.
  double exact_range;
  double relative_error;  // of sums that are not exact, and of their divisors
  bool divides;           // false if all wholes are 1
};

// Stores each result, rounded or, for integers, truncated, or sets its `unresolved`, which is 0
// before, to 1. Returns whether any is unresolved.
template <typename T>
using WeightedRowKernel = bool(const WeightedRow<T>& row, T* results, uint8_t* unresolved);

// T is float, Half, int8_t or uint8_t.
template <typename T>
WeightedRowKernel<T>* WeightedRowKernelFor();

}  // namespace dmlop
