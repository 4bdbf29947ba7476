// SPDX-License-Identifier: Apache-2.0
// Checks whether a model fits into memory: its resources, and the copies of OWNED_BY_DML inputs.
//
//   RES-7   there is not enough memory for a resource, or for a copy of one
#pragma once

#include "core/model/model_bindings.h"

namespace dmlop {

// Reports what exceeds the available memory, as a fault of the machine, for a bound model without
// faults.
void CheckMemory(const ModelDocument& model, const ModelResources& resources,
                 const BoundModel& bound, Diagnostics& diagnostics);

}  // namespace dmlop
