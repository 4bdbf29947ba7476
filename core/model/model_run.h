// SPDX-License-Identifier: Apache-2.0
// Runs the commands of a model on its buffers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_run.h"
#include "core/io/file.h"
#include "core/model/model_resources.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// --- bindings ------------------------------------------------------------------------------------

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

// --- runs ----------------------------------------------------------------------------------------

// A tensor that an operator fills, under its public name: "dispatchable.OutputTensor", or that of
// the graph's edge.
struct FilledTensor {
  std::string name;
  const TensorDesc* desc;
};

// Returns the tensors in the order in which they are filled. The dispatchable must outlive them.
std::vector<FilledTensor> TensorsFilledBy(const ModelDispatchable& dispatchable);

class ModelRun {
 public:
  // The buffers must be filled, and the model free of faults. Captures inputs OWNED_BY_DML.
  ModelRun(const ModelDocument& model, ModelResources& resources, BoundModel bound);

  // Returns the tensors of the dispatch that is command number `command`, in the buffers at their
  // current addresses. Elements of 4 bits are packed.
  RoleViews TensorsOf(size_t command);

  // Reports warnings of the dispatch's operator about the values that it is to run on. Nodes of a
  // graph do so when they run.
  void WarnOfValues(size_t command, Diagnostics& diagnostics);

  void Dispatch(size_t command, const StepWatch& watch = {});

  // Visits the steps of a dispatch without running them.
  void ForEachStep(size_t command, const VisitStep& visit);

  // The origin of memory that no operator has filled.
  struct Origin {
    std::string name;  // name of a resource, or of a graph's constant
    bool is_constant;
    int64_t byte_offset;               // position in it
    const TensorDesc* desc = nullptr;  // of the whole tensor, if it is one of a graph
  };
  std::optional<Origin> OriginOf(const std::byte* place) const;

  // Writes "Resource 'Out': 1, 2, 3", or with `verbose` a line for each element, piece by piece.
  void Print(const PrintCommand& command, const std::function<void(std::string_view)>& write) const;

  // The bytes of the file that the command writes, in two pieces.
  struct FileContent {
    std::string header;
    std::span<const std::byte> data;
  };
  FileContent Write(const WriteFileCommand& command) const;

 private:
  const ModelDispatchable& DispatchableOf(size_t command) const;
  Step StepOf(const ModelDispatchable& dispatchable, RoleViews tensors) const;

  const ModelDocument& model_;
  ModelResources& resources_;
  BoundModel bound_;
  std::vector<std::vector<Buffer>> owned_;  // indexed by dispatchable and slot; most are empty
};

}  // namespace dmlop
