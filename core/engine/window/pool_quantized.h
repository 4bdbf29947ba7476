// SPDX-License-Identifier: Apache-2.0
// Averages of windows of integers that stand for real numbers by a scale and a zero point.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/window/pool_windows.h"

namespace dmlop {

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
