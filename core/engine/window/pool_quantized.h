// Averages of windows of integers that stand for real numbers, by a scale and a zero point.
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/window/pool_windows.h"

namespace dmlop {

// One number for each channel, or one for all.
struct ChannelQuantization {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
};

struct QuantizedAverage {
  bool counts_padding;  // as the real number 0
  ChannelQuantization input, output;
};

// Computes the part of an output from index `begin` on: the real average, exactly, rounded once,
// ties to even, and the zero point, inside the output's type. Elements are of 8 bits. A window of
// nothing has the zero point.
void AverageQuantized(const QuantizedAverage& call, const PoolDims& dims,
                      const ConstTensorView& input, const Dims& begin, const TensorView& averages);

}  // namespace dmlop
