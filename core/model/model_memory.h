// Whether a model fits into memory: its resources, and the copies of what is OWNED_BY_DML.
//
//   RES-7   there is not the memory for a resource, or for a copy of one
#pragma once

#include "core/model/model_bindings.h"

namespace dmlop {

// Reports what exceeds the memory that is available, as the machine's fault, for a bound model
// without faults.
void CheckMemory(const ModelDocument& model, const ModelResources& resources,
                 const BoundModel& bound, Diagnostics& diagnostics);

}  // namespace dmlop
