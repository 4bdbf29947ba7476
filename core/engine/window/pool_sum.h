// SPDX-License-Identifier: Apache-2.0
// Averages and norms of windows: exact sums, rounded once, except for kNorm.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/window/pool_windows.h"
#include "core/engine/window/sliding_windows.h"
#include "core/kernels/window/pool_row.h"

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

// The gradient of averages by sliding windows. Computes the part of a tensor from index `begin` on;
// its windows have no dilation, and `gradient` has one element for each. They distribute it to
// their present taps in shares of 1 / count, which may include padding. A sum is exact and rounded
// once if shares are exact, or if all its counts are equal; otherwise its error is below 2^-90 of
// its terms.
void SlideShares(const PoolDims& dims, bool counts_padding, const ConstTensorView& gradient,
                 const Dims& begin, const TensorView& sums);

// Returns whether SlideShares has exact shares: integer parts of a common multiple of the counts.
bool HasExactShares(const PoolDims& dims, bool counts_padding, const Dims& windows,
                    const Dims& begin, const Dims& sizes);

// Computes a row of windows; its offsets are not used, but `taps`. T is float or Half.
template <typename T>
void NormsOf(const PoolRow<T>& row, const TapLoops& taps, uint32_t exponent, T* results);

// Computes a part of the output by sliding windows.
template <typename T>
void SlideNorms(const PoolDims& dims, const SlideAxes& axes, const ConstTensorView& input,
                uint32_t exponent, const TensorView& norms);

// --- maxima --------------------------------------------------------------------------------------

// Maxima of windows, the places of these, and the gradient.
//
// -0 is less than +0, and NaN is ignored; if all elements are NaN, so is the maximum, and the first
// tap wins. A window without taps has the least value of its type (-infinity for floats), and the
// index -1, that is, all bits are 1.

// Computes an output from index `begin` on, of FLOAT32, FLOAT16 or integers of 8 bits or more.
void FindMaxima(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                const TensorView& maxima);

// Also finds the winners: the number in the whole input of the first greatest element of each
// window in row-major order, modulo 2^width of its type, which is UINT32 or UINT64. `maxima`
// without data are not computed.
void FindWinners(const PoolDims& dims, const ConstTensorView& input, const Dims& begin,
                 const TensorView& maxima, const TensorView& winners);

// --- the gradient --------------------------------------------------------------------------------

// Computes the part of an output, which has the input's sizes, from index `begin` on: for each
// element the exact sum, rounded once, of the gradients of the windows that it wins, or +0 if it
// wins none. All tensors are FLOAT32 or FLOAT16.
void SumOfWinners(const PoolDims& dims, const ConstTensorView& input,
                  const ConstTensorView& gradient, const Dims& begin, const TensorView& sums);

// --- integers ------------------------------------------------------------------------------------

// Averages of windows of integers that stand for real numbers by a scale and a zero point.

// Each has one number per channel, or one for all channels.
struct ChannelQuantization {
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
};

struct QuantizedAverage {
  bool counts_padding;  // whether padding counts as the real number 0
  ChannelQuantization input, output;
};

// Computes the part of an output from index `begin` on: the exact real average, rounded once with
// ties to even, plus the zero point, clamped to the output's type. Elements have 8 bits. A window
// without taps has the zero point.
void AverageQuantized(const QuantizedAverage& call, const PoolDims& dims,
                      const ConstTensorView& input, const Dims& begin, const TensorView& averages);

}  // namespace dmlop
