// SPDX-License-Identifier: Apache-2.0
// The tensors that the operators of a model fill: their names for users, their memory, and how far
// off a device may be that fills them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_run.h"
#include "core/io/output_tensor.h"
#include "core/judge/units.h"
#include "core/model/model_document.h"
#include "core/tensor/tensor.h"

namespace dmlop {

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

  // In the order in which they are filled.
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

}  // namespace dmlop
