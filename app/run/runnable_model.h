// SPDX-License-Identifier: Apache-2.0
// A model of any kind as something that runs step by step: an ONNX model, a serialized graph, or a
// DxDispatch model whose resources are bound. Nodes and tensors have the names that users know.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/descriptor.h"
#include "app/files/file_roles.h"
#include "core/arithmetic/computation.h"
#include "core/explain/element_trace.h"
#include "core/graph/graph.h"
#include "core/graph/graph_run.h"
#include "core/io/output_tensor.h"
#include "core/io/tensor_file.h"
#include "core/model/model_document.h"
#include "core/model/model_run.h"
#include "core/tensor/tensor.h"
#include "core/units/units.h"

namespace dmlop {

// --- filled tensors ------------------------------------------------------------------------------

// The tensors that the operators of a model fill: their names for users, their memory, and how far
// off a device may be that fills them.

class FilledTensors {
 public:
  struct One {
    std::string name;       // "dispatchable.OutputTensor", or an edge of a graph
    std::string full_name;  // "graph.edge"; equal to `name` outside of graphs
    const TensorDesc* desc;
    size_t dispatchable;                            // the one that fills it
    size_t node = 0, edge = 0;                      // of the graph, if it is one
    std::optional<StoredForm> form = std::nullopt;  // of its file, where the desc does not say it
  };

  // The model must outlive this object.
  explicit FilledTensors(const ModelDocument& model);
  // The tensors of a graph have the names of their nodes in front: "Conv_0.Y".
  explicit FilledTensors(const NamedGraph& graph);

  // The tensors are in the order in which they are filled.
  const std::vector<One>& all() const { return all_; }

  // The numbers of the tensors called `name`, one for each dispatchable and each as it is last
  // filled. A full name takes precedence over an equal name of an edge.
  std::vector<size_t> Find(std::string_view name) const;

  // The name if it is unique, or else the full name.
  const std::string& ShortestName(size_t number) const;

  // The shortest names of all tensors, each once.
  std::vector<std::string_view> ShortestNames() const;

  // The fault of a name for which several tensors were found.
  std::string SayWhich(std::string_view name, const std::vector<size_t>& found) const;

 private:
  // For each name, the last tensor of that name that each dispatchable fills.
  using LastByName = std::map<std::string, std::map<size_t, size_t>, std::less<>>;

  const std::map<size_t, size_t>& Meant(std::string_view name) const;

  std::vector<One> all_;
  LastByName by_name_, by_full_name_;
};

// Returns whether some of these bytes are a tensor's.
bool Overlaps(const ConstTensorView& tensor, std::span<const std::byte> bytes);

// The memory of the tensors filled so far.
class FilledMemory {
 public:
  // Takes what a step has filled.
  void Add(const Step& step);

  // Returns whether a step reads of it; a device surely had the same inputs only if it does not.
  bool IsReadBy(const Step& step) const;

 private:
  std::vector<std::span<const std::byte>> filled_;
};

// The units of what a step has filled, for a device with the same inputs; none for equality.
std::optional<ErrorUnits> UnitsOf(const Step& step, size_t output);

// --- models --------------------------------------------------------------------------------------

// --- the inputs of a document --------------------------------------------------------------------

struct ModelInputs {
  ModelResources resources;  // not filled yet
  BoundModel bound;
};

// Opens the model's files in `folder` or, if that is empty, in the model's own folder, and binds
// the tensors. Prints `diagnostics`; null if there is an error.
std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           const Descriptor& descriptor,
                                           const CommonOptions& common, Diagnostics& diagnostics);

// Does the same without printing; `folder` is that of the files.
std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           Diagnostics& diagnostics);

// The role of a resource's file.
std::string RoleOf(const ModelResource& resource);

// Adds the files that the resources are filled from.
void AddSources(const ModelDocument& model, const ModelResources& resources, FileRoles& roles);

// --- the model -----------------------------------------------------------------------------------

struct RunnableModel {
  // A tensor that the model begins or ends with, besides those that operators fill.
  struct Resource {
    std::string name;
    ConstTensorView view;
    TensorDesc desc;
  };

  // A node of a graph, or a dispatch of an operator.
  struct Node {
    std::string name;
    std::string full_name;      // "graph.node" in a document; the same as `name` elsewhere
    std::string type;           // such as "Conv 11"
    size_t begin = 0, end = 0;  // its steps; none if it is known while the model is read
  };

  FilledTensors filled;
  std::vector<Resource> resources;
  std::vector<Node> nodes;  // in the order in which they run
  // Visits the steps without running them; the visitor may do so.
  std::function<void(const VisitStep&)> for_each_step;
  std::function<void(const StepWatch&)> run;
  std::function<std::optional<ModelRun::Origin>(const std::byte*)> origin_of;
  // The name of the tensor that an input of a step is, for a graph, whose inputs may have no
  // values.
  std::function<std::string(size_t step, size_t input)> name_of_input = nullptr;
  // The steps as they are planned. Their views tell places, and have no values.
  std::vector<TraceStep> steps = {};
  std::vector<StepOutput> outputs = {};  // of all steps, in the order of `filled`

  // The number, in `filled`, of the first output of a step.
  size_t FirstOutputOf(size_t step) const;

  // The number of the tensor that an input of a step is, as it was last filled; empty if the model
  // begins with it.
  std::optional<size_t> FilledInput(size_t step, size_t input) const;

  const Node& NodeOf(size_t step) const;

  // The names of a filled tensor besides its own: in a document, that of the resource it begins.
  std::vector<std::string> OtherNamesOf(size_t number) const;

  // The node that is meant by its name, by that of a tensor that it fills, or by a file that run
  // --keep-all names so or its number. Throws an Error of kind kUsage if there is none or several.
  const Node& NodeCalled(const std::string& name) const;
};

// The elements of a resource of a document as one list; bytes if it has several types.
TensorDesc ListIn(const ModelResources& resources, size_t number);

// Takes bound inputs, and fills them. The model must outlive the result.
RunnableModel RunnableOf(const ModelDocument& model, ModelInputs&& inputs);

// Takes the inputs for RunGraph. The graph and the inputs must outlive the result.
RunnableModel RunnableOf(const NamedGraph& graph, std::vector<ConstTensorView> inputs);

// Loads what a device has for a tensor that an operator fills, as its desc there has it: ONNX's
// tensors may have fewer dimensions, and signed indices. A file of another type or shape is loaded
// as it is.
LoadedTensor LoadFilled(const std::string& path, const FilledTensors::One& tensor,
                        const TensorDesc& of_operator, FileShapes shapes);

// The operator of a step and its inputs, elements of 4 bits each in a byte.
Computation ComputationOf(const Step& step);

}  // namespace dmlop
