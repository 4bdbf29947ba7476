// SPDX-License-Identifier: Apache-2.0
// Sums of floats without rounding, in bins of binary64 (Demmel and Nguyen, "Parallel reproducible
// summation").
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/kernels/reduce/sum_map.h"
#include "core/tensor/half.h"

namespace dmlop {

// A range of adjacent bins.
struct BinSpan {
  int first, count;
};

// Bin b holds a multiple of its unit, which is 2^kStep times that of the next bin; the last unit
// divides all terms. Bin 0 takes only carries.
//
// Terms are added to a bin with unit u at an offset of 1.5 * 2^52 u, where the last place of
// binary64 is u: the part that a bin takes is exact, and so is the rest of at most u / 2, which
// goes to the next bin. kMaxCount such rests, 2^39 of the next bin's units each, do not move it out
// of its binade.
template <typename T, SumMap kMap>
struct SumBins {
  static constexpr int kStep = 40;
  static constexpr int64_t kMaxCount = 1 << 11;  // additions to a bin before it is carried over

  static constexpr int kFractionBits = std::is_same_v<T, float> ? 23 : 10;
  static constexpr int kPowers = kMap == SumMap::kSquare ? 2 : 1;
  static constexpr int kMaxExponent = kPowers * (std::is_same_v<T, float> ? 128 : 16);
  static constexpr int kLeastExponent = kPowers * (std::is_same_v<T, float> ? -149 : -24);

  static constexpr int UnitExponent(int bin) { return kMaxExponent + 1 - kStep * bin; }

  static constexpr int kCount = (kMaxExponent + 1 - kLeastExponent + kStep - 1) / kStep + 1;
  static_assert(UnitExponent(kCount - 1) <= kLeastExponent);

  // Returns the bins that sum the terms of elements x exactly, if the last one takes whatever is
  // left of a term; `most` and `least` are the bits of the largest and of the smallest nonzero |x|
  // as binary32. Returns none if all x are 0, and any if there are NaN or infinities.
  static constexpr BinSpan SpanOf(uint32_t most, uint32_t least) {
    if (most == 0) return {1, 0};
    // Each |x| is below 2^above, and a multiple of 2^unit.
    const int above = static_cast<int>(most >> 23) - 126;
    const int unit = static_cast<int>(least >> 23) - 127 - kFractionBits;
    const int first = 1 + std::max(kMaxExponent - kPowers * above, 0) / kStep;
    const int last = (kMaxExponent + kStep - std::max(kPowers * unit, kLeastExponent)) / kStep;
    return {first, std::max(last - first, 0) + 1};
  }

  // Returns 1.5 * 2^52 units.
  static constexpr double Start(int bin) {
    return std::bit_cast<double>((uint64_t{2 * (1023 + 52)} + 2 * uint64_t(UnitExponent(bin)) + 1)
                                 << 51);
  }
};

// The sums of adjacent groups: that of group i is the sum of its bins, bins[b * pitch + i]. Bins
// start at 0; in the end, each is at most half a unit of the one before it. If a group met NaN or
// an infinity, one of its bins is not finite.
struct BinnedSums {
  static constexpr int64_t kLanes = 8;  // whole vectors on every instruction set

  BinnedSums From(int64_t i) const { return {bins + i, pitch}; }

  double* bins;
  int64_t pitch;  // a multiple of kLanes; bins of groups up to there may be overwritten
};

template <typename T>
struct BinnedSumKernels {
  // Adds `count` adjacent elements to the one group of `sums`.
  void (*add_row)(const T* x, int64_t count, const BinnedSums& sums);

  // Adds `rows` rows, `row_stride` elements apart, of `columns` adjacent elements, one for each
  // group.
  void (*add_columns)(const T* x, int64_t rows, int64_t row_stride, int64_t columns,
                      const BinnedSums& sums);

  // Adds the one group of `other` to that of `sums`.
  void (*merge)(const BinnedSums& other, const BinnedSums& sums);
};

// T is float or Half.
template <typename T>
BinnedSumKernels<T> BinnedSumKernelsFor(SumMap map);

}  // namespace dmlop
