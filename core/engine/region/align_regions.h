// SPDX-License-Identifier: Apache-2.0
// Samples regions of images at a grid of points, and passes gradients of the samples back.
#pragma once

#include <optional>

#include "core/engine/region/region_samples.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The reduction of an output's samples.
struct SampleReduction {
  bool is_max;     // maximum instead of mean
  double outside;  // value of samples out of bounds
};

// Computes the part of the output {R, C, height, width} that begins at an index.
void AlignRegions(const RegionRule& rule, const SampleReduction& reduction,
                  const RegionTensors& tensors, const Dims& begin, const TensorView& output);

// --- the gradient --------------------------------------------------------------------------------

// The first of the greatest samples gets the whole gradient of a maximum; samples out of bounds are
// 0.
struct AlignmentGradient {
  const RegionRule& rule;
  bool is_max;
  // The image is read only for a maximum and for the corners; otherwise it may have no data, but it
  // always has sizes.
  const RegionTensors& tensors;
  const ConstTensorView& gradient;  // gradient of the outputs {R, C, height, width}
};

// The place of the sample of an output of a channel that has all of its gradient; none where that
// is out of bounds.
struct WinningSample {
  SampleRun y, x;
};
std::optional<WinningSample> WinnerOf(const RegionTensors& tensors, int64_t channel,
                                      const RegionSamples& samples, size_t row, size_t column);

// The gradient with respect to the image.
void GradientOfImage(const AlignmentGradient& alignment, const TensorView& output);

// The gradient with respect to the corners of the regions.
void GradientOfCorners(const AlignmentGradient& alignment, const TensorView& output);

}  // namespace dmlop
