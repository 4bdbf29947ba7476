// SPDX-License-Identifier: Apache-2.0
// The sizes that formulas have in the arithmetic of magnitudes, element by element, and the share
// of rounded coordinates in the sizes of interpolated elements.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/judge/magnitude.h"
#include "core/ops/operator.h"

namespace dmlop {

struct SizesAndTerms {
  std::vector<double> sizes;
  std::vector<int64_t> terms;
};

// These are those of all elements of an output, in row-major order.
SizesAndTerms EvaluateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                            size_t output);

// Adds, for each dimension of a linear interpolation, the magnitude of the coordinate times the
// difference of the neighbours; nothing for operators that interpolate in another way. `sizes` are
// those of the output.
void AddCoordinateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                        std::vector<double>& scale);

// Whether an operator samples regions, which its second input has, of images.
bool SamplesRegions(const OperatorDesc& op, InputViews inputs);

// The sizes of what such an operator samples, with the larger coordinate times difference on either
// side of each neighbour. `sample` are some elements of the output.
std::vector<double> RegionSizes(const OperatorDesc& op, InputViews inputs,
                                std::span<const Dims> sample);

}  // namespace dmlop
