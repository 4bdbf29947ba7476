// Averages and norms of windows: exact sums, rounded once, but for kNorm.
#pragma once

#include <cstdint>

#include "core/engine/window/pool_windows.h"

namespace dmlop {

enum class PoolSum {
  kAverage,        // the sum by the number of present taps
  kPaddedAverage,  // by that of those that padding counts in, too
  kShare,          // by a number of the call
  kL1,             // the sum of magnitudes
  kL2,             // the square root of the sum of squares
  kNorm,           // the P-th root of the sum of P-th powers of magnitudes, within 0.51 ULP
};

struct PoolSumCall {
  PoolSum function;
  uint32_t power = 0;   // P of kNorm, at least 1
  int64_t divisor = 1;  // of kShare, at least 1
};

// Computes the part of an output from index `begin` on. Elements are FLOAT32 or FLOAT16. A window
// without taps has the sum +0, whose average by nothing is NaN.
void SumWindows(const PoolSumCall& call, const PoolDims& dims, const ConstTensorView& input,
                const Dims& begin, const TensorView& sums);

}  // namespace dmlop
