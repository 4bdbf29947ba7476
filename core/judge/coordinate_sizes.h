// SPDX-License-Identifier: Apache-2.0
// The share of rounded coordinates in the size of an interpolated element.
#pragma once

#include <span>
#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

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
