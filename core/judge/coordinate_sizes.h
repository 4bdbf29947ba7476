// SPDX-License-Identifier: Apache-2.0
// The share of rounded coordinates in the size of an interpolated element.
#pragma once

#include <vector>

#include "core/ops/operator.h"

namespace dmlop {

// Adds, for each dimension of a linear interpolation, the magnitude of the coordinate times the
// difference of the neighbours; nothing for operators that interpolate in another way. `sizes` are
// those of the output.
void AddCoordinateSizes(const OperatorDesc& op, InputViews inputs, const Dims& sizes,
                        std::vector<double>& scale);

}  // namespace dmlop
