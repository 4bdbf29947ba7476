// Regions of images, sampled at a grid of points.
#pragma once

#include "core/engine/region/region_samples.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// What the samples of an output become.
struct SampleReduction {
  bool is_max;     // or the mean
  double outside;  // the value of samples out of bounds
};

// Computes the part of the output {R, C, height, width} that begins at an index.
void AlignRegions(const RegionRule& rule, const SampleReduction& reduction,
                  const RegionTensors& tensors, const Dims& begin, const TensorView& output);

}  // namespace dmlop
