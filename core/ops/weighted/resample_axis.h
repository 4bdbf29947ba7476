// SPDX-License-Identifier: Apache-2.0
// The pixels of one dimension that an output of RESAMPLE is made of. Output o is at the coordinate
//   x(o) = (o - OutputPixelOffset) / Scale - InputPixelOffset.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/integers.h"
#include "core/engine/weighted/weighted_sum.h"

namespace dmlop {

enum class Interpolation : uint8_t {
  kFloor,  // the nearest pixel, by FLOAT32 arithmetic
  kCeil,
  kLinear,
  kAntialiased,  // linear, but wider if two or more pixels become one
};

// One dimension of the forward operator, whether it is run forward or backward.
struct ResampleAxis {
  Interpolation interpolation;
  int64_t pixels;   // of the input
  int64_t outputs;  // of the output
  float scale;      // finite, greater than 0
  float input_offset;
  float output_offset;
};

// The pixels that contribute to an output, and the outputs that a pixel contributes to. Neither the
// first nor the last one decreases from one index to the next.
Range PixelsOf(const ResampleAxis& axis, int64_t output);
Range OutputsOf(const ResampleAxis& axis, int64_t pixel);

// The taps of outputs whose source has pixels `stride` apart, and of pixels whose source has
// outputs `stride` apart. The latter exist only without antialiasing.
std::shared_ptr<const TapAxis> PixelTaps(const ResampleAxis& axis, int64_t stride);
std::shared_ptr<const TapAxis> OutputTaps(const ResampleAxis& axis, int64_t stride);

}  // namespace dmlop
