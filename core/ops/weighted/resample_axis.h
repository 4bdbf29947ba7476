// Which pixels of one dimension an output of RESAMPLE is made of: output o looks at the coordinate
//   x(o) = (o - OutputPixelOffset) / Scale - InputPixelOffset.
#pragma once

#include <cstdint>
#include <vector>

#include "core/exact/dyadic.h"

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

// Pixels side by side, whose weights are part / whole.
struct PixelWeights {
  int64_t first;
  std::vector<Dyadic> parts;  // none is 0
  Dyadic whole;

  int64_t last() const { return first + static_cast<int64_t>(parts.size()) - 1; }
};

// Those of an output, without their weights: of antialiased ones there may be very many.
struct PixelRange {
  int64_t first;
  int64_t last;
};
PixelRange PixelRangeOf(const ResampleAxis& axis, int64_t output);
PixelRange OutputRangeOf(const ResampleAxis& axis, int64_t pixel);

// Of an output. First and last pixels do not fall from one output to the next.
PixelWeights PixelsOf(const ResampleAxis& axis, int64_t output);

// The outputs that a pixel is a part of, and its weights in them. Not for antialiased ones.
PixelWeights OutputsOf(const ResampleAxis& axis, int64_t pixel);

}  // namespace dmlop
