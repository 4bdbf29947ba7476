// Sums of short rows without rounding, as a few FLOAT64 numbers.
#pragma once

#include <cstdint>

#include "core/kernels/sum_term.h"
#include "core/tensor/half.h"

namespace dmlop {

// The exact sum of a row's terms is that of its parts.
//
// A term t is split at sigma, a power of two: q = (sigma + t) - sigma is a multiple of
// 2^-53 * sigma, and t - q, at most that large, is exact (Rump, Ogita and Oishi, "Accurate
// floating-point summation"). With sigma >= kMaxCount * max |t| no sum of q needs more than 53
// bits, so it is exact in any order: that is one part. The rests are split in the same way, until
// all are zero. A part takes 41 bits, from 2^256 down to 2^-298 there are 554.
struct SplitSum {
  static constexpr int64_t kMaxCount = 1 << 11;
  static constexpr int kMaxParts = 16;

  uint32_t peak;  // bits of the largest |x| as binary32; where it is not finite, there are no parts
  int part_count;
  double parts[kMaxParts];
};

// Of at most kMaxCount neighbours in memory. T is float or Half.
template <typename T>
using SplitSumFunction = void (*)(const T* x, int64_t count, SplitSum& sum);

template <typename T>
SplitSumFunction<T> SplitSumFor(SumTerm term);

}  // namespace dmlop
