// Which pixels of one dimension an output of RESAMPLE is made of: output o looks at the coordinate
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
  kAntialiased,  // linear, and stretched where two pixels and more become one
};

// The dimension of the smaller or larger tensor that the forward operator has as input.
struct ResampleAxis {
  Interpolation interpolation;
  int64_t pixels;   // of the input
  int64_t outputs;  // of the output
  float scale;      // finite, greater than 0
  float input_offset;
  float output_offset;
};

// The pixels that an output is made of, and the outputs that a pixel is a part of. First and last
// ones do not fall from one index to the next.
Range PixelsOf(const ResampleAxis& axis, int64_t output);
Range OutputsOf(const ResampleAxis& axis, int64_t pixel);

// The dimension of a source that has the pixels, `stride` apart, for the outputs; and of one that
// has the outputs for the pixels, not where these are antialiased.
std::shared_ptr<const TapAxis> PixelTaps(const ResampleAxis& axis, int64_t stride);
std::shared_ptr<const TapAxis> OutputTaps(const ResampleAxis& axis, int64_t stride);

}  // namespace dmlop
