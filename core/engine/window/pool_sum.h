// Averages and norms of windows: exact sums, rounded once, except for kNorm.
#pragma once

#include <cstdint>

#include "core/engine/window/pool_windows.h"

namespace dmlop {

enum class PoolSum {
  kAverage,        // the sum divided by the number of present taps
  kPaddedAverage,  // divided by the number that includes taps in the padding
  kShare,          // divided by a number of the call
  kL1,             // the sum of magnitudes
  kL2,             // the square root of the sum of squares
  kNorm,           // the P-th root of the sum of P-th powers of magnitudes, within 0.51 ULP
};

struct PoolSumCall {
  PoolSum function;
  uint32_t power = 0;   // P for kNorm, at least 1
  int64_t divisor = 1;  // for kShare, at least 1
};

// Computes the part of an output from index `begin` on. Elements are FLOAT32 or FLOAT16. A window
// without taps has the sum +0, and the average NaN if it is divided by 0.
void SumWindows(const PoolSumCall& call, const PoolDims& dims, const ConstTensorView& input,
                const Dims& begin, const TensorView& sums);

// The gradient of averages, by windows that slide: computes the part of a tensor from index `begin`
// on, whose windows, which have no dilation, have a gradient each. They hand it out to their
// present taps, in parts of 1 / count; padding is counted or not. A sum is exact and rounded once
// where all counts are equal, and else off by less than 2^-90 of its terms.
void SlideShares(const PoolDims& dims, bool counts_padding, const ConstTensorView& gradient,
                 const Dims& begin, const TensorView& sums);

}  // namespace dmlop
