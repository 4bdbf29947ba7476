// The commands of a model at work on its buffers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_run.h"
#include "core/io/file.h"
#include "core/model/model_bindings.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A tensor that an operator fills, as it is called outside of it: "dispatchable.OutputTensor", or
// as the edge of a graph.
struct FilledTensor {
  std::string name;
  const TensorDesc* desc;
};

// By the order in which they are filled. The dispatchable must outlive them.
std::vector<FilledTensor> TensorsFilledBy(const ModelDispatchable& dispatchable);

class ModelRun {
 public:
  // The buffers are filled, and the model is free of faults. Inputs OWNED_BY_DML are captured here.
  ModelRun(const ModelDocument& model, ModelResources& resources, BoundModel bound);

  // The tensors of the dispatch that is the command with that number, in the buffers where they are
  // now. Elements of 4 bits are packed.
  RoleViews TensorsOf(size_t command);

  // What the operator of the dispatch has to say of the values that it is to run on. Nodes of a
  // graph are asked when they run.
  void WarnOfValues(size_t command, Diagnostics& diagnostics);

  void Dispatch(size_t command, const StepWatch& watch = {});

  // The steps of a dispatch, without running them.
  void ForEachStep(size_t command, const VisitStep& visit);

  // What lies at a place in memory that no operator has filled.
  struct Origin {
    std::string name;  // of a resource, or of a constant of a graph
    bool is_constant;
    int64_t byte_offset;  // in it
  };
  std::optional<Origin> OriginOf(const std::byte* place) const;

  // "Resource 'Out': 1, 2, 3", or with `verbose` a line an element, piece by piece.
  void Print(const PrintCommand& command, const std::function<void(std::string_view)>& write) const;

  // The bytes of the file that the command writes, as one piece after another.
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
  std::vector<std::vector<Buffer>> owned_;  // by dispatchable and slot; most are empty
};

}  // namespace dmlop
