// SPDX-License-Identifier: Apache-2.0
// A graph with the names, types and shapes that the tensors have for its users, and with the nodes
// of the model that it was made from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace dmlop {

// A tensor to which files are bound.
struct GraphPort {
  std::string name;
  DataType type = DataType::kUnknown;
  bool is_bool = false;                       // UINT8 that a file may have as truth values
  std::vector<int64_t> sizes = {};            // none for a scalar; a size may be 0
  std::vector<uint32_t> strides = {};         // in memory; none if it is packed
  std::optional<size_t> edge = std::nullopt;  // none if it is empty, or an input that nothing reads
  bool has_default = false;                   // an input that need not be bound
};

// A node of the model: what it is called there, and the nodes of the graph that compute it.
struct ModelNode {
  std::string name;
  std::string type;                // such as "Conv"
  std::string version;             // such as "11"
  size_t begin = 0, end = 0;       // nodes of the graph; none if it is known or only renames
  std::vector<std::string> notes;  // what differs elsewhere
};

struct NamedGraph {
  Graph graph;
  std::vector<GraphPort> inputs, outputs;
  std::vector<GraphPort> tensors;  // by edge
  std::vector<ModelNode> nodes;    // in the order in which they run
};

// Names a graph that has no other names than those of its edges and nodes.
std::shared_ptr<const NamedGraph> NamedAsItIs(const Graph& graph);

}  // namespace dmlop
