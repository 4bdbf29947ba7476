// The gradient of AlignRegions.
#pragma once

#include <optional>

#include "core/engine/region/region_samples.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Of a maximum, the first of the greatest samples has all of the gradient; those out of bounds are
// 0 for that.
struct AlignmentGradient {
  const RegionRule& rule;
  bool is_max;
  // The image is not read but for a maximum and for the corners, and has no data where there is
  // none; its sizes are there always.
  const RegionTensors& tensors;
  const ConstTensorView& gradient;  // of the outputs {R, C, height, width}
};

// The place of the sample of an output of a channel that has all of its gradient; none where that
// is out of bounds.
struct WinningSample {
  SampleRun y, x;
};
std::optional<WinningSample> WinnerOf(const RegionTensors& tensors, int64_t channel,
                                      const RegionSamples& samples, size_t row, size_t column);

// With respect to the image.
void GradientOfImage(const AlignmentGradient& alignment, const TensorView& output);

// With respect to the corners of the regions.
void GradientOfCorners(const AlignmentGradient& alignment, const TensorView& output);

}  // namespace dmlop
