// SPDX-License-Identifier: Apache-2.0
// Runs operators into files.
#pragma once

#include <span>

#include "core/io/output_tensor.h"
#include "core/ops/operator.h"

namespace dmlop {

// Runs a valid desc. Large files are written piece by piece while more is computed: writing is
// faster than filling pages that are mapped from a new file, and takes no memory.
void RunInto(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
             std::span<OutputTensor* const> outputs);

}  // namespace dmlop
