// SPDX-License-Identifier: Apache-2.0
// Binds each tensor of a dispatch to bytes, and checks whether that is allowed, and whether the
// model fits into memory.
//
//   MB-1    as many resources as tensors     BIND-3  the offset is aligned
//   MB-2    every tensor is bound            BIND-5  outputs do not overlap
//   MB-4    OWNED_BY_DML inputs are bound    BIND-7  an output overlaps an input only in place
//           at initialization, others not    BIND-8  in place, both tensors are alike
//   MB-6    a resource of another type causes a warning
//   BIND-2  the tensor fits into the resource
//   CMD-1   a command that cannot be carried out
//   RES-7   there is not enough memory for a resource, or for a copy of one
#pragma once

#include <optional>
#include <vector>

#include "core/model/model_resources.h"

namespace dmlop {

struct BoundTensor {
  size_t resource;
  uint64_t offset;  // in bytes
};

// One entry for each slot of the operator; empty for tensors that are bound elsewhere.
using BoundTensors = std::vector<std::optional<BoundTensor>>;

struct BoundModel {
  std::vector<BoundTensors> initialization;  // indexed by dispatchable: inputs OWNED_BY_DML
  std::vector<BoundTensors> dispatches;      // indexed by command; empty for other commands
};

// Binds and checks everything that does not belong to an invalid operator, and reports faults.
BoundModel BindModel(const ModelDocument& model, const ModelResources& resources,
                     Diagnostics& diagnostics);

// Reports resources, and copies of OWNED_BY_DML inputs, that exceed the available memory, as a
// fault of the machine, for a bound model without faults.
void CheckMemory(const ModelDocument& model, const ModelResources& resources,
                 const BoundModel& bound, Diagnostics& diagnostics);

}  // namespace dmlop
