// SPDX-License-Identifier: Apache-2.0
// The sizes that formulas have in the arithmetic of magnitudes, element by element.
#pragma once

#include <cstdint>
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

}  // namespace dmlop
