// SPDX-License-Identifier: Apache-2.0
// Samples regions of images at a grid of points.
#pragma once

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

}  // namespace dmlop
