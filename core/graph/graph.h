// SPDX-License-Identifier: Apache-2.0
// A DirectML graph: operators, and the edges between them. An edge is a tensor in memory that one
// node fills and others read, each by a desc of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/ops/operator.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Bytes of a tensor, as long as its desc needs but for those that round the size up. They may begin
// at any address, as in a file.
struct GraphConstant {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool is_mapped = false;  // in a mapped file, from which they can be read again
};

struct GraphEdge {
  std::string name;
  // The desc of the node that computes the edge or, for an input or constant, of the node that
  // reads most of it. Empty if nobody reads or computes it.
  std::optional<TensorDesc> desc;
  std::optional<GraphConstant> constant;
};

struct GraphNode {
  std::string name;
  OperatorDesc op;            // complete and valid
  std::vector<size_t> edges;  // indexed by slot of the operator
};

// Returns the edges of the slots of a role, in order.
std::vector<size_t> EdgesOf(const GraphNode& node, TensorRole role);

struct Graph {
  std::vector<GraphEdge> edges;
  std::vector<GraphNode> nodes;         // each after those that compute what it reads
  std::vector<size_t> inputs, outputs;  // indices of edges
};

// Returns the slots to which a graph is bound: its inputs that a node reads, then its outputs. The
// graph must outlive them.
std::vector<TensorSlot> SlotsOf(const Graph& graph);

// --- names ---------------------------------------------------------------------------------------

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
  bool is_refused = false;
  bool is_unjudged = false;  // it reads what is refused, of which too little is known

  bool runs() const { return !is_refused && !is_unjudged; }
};

// A graph with the names, types and shapes that the tensors have for its users, and with the nodes
// of the model that it was made from.
struct NamedGraph {
  Graph graph;
  std::vector<GraphPort> inputs, outputs;
  std::vector<GraphPort> tensors;  // by edge
  std::vector<ModelNode> nodes;    // in the order in which they run
};

// Names a graph that has no other names than those of its edges and nodes.
std::shared_ptr<const NamedGraph> NamedAsItIs(const Graph& graph);

// --- reading -------------------------------------------------------------------------------------

// Reads serialized DirectML graphs, which tools that partition ONNX models write for DxDispatch as
// flatbuffers (dml_graph.fbs).
//
//   SGR-1   an edge that is never filled, or twice, or after it is read
//   SGR-2   an operator whose tensors or attributes do not match its fields
//   SGR-3   a constant that is missing or too short
//   SGR-4   a file that is not such a graph, or nodes that do not fit together

struct GraphSource {
  std::span<const std::byte> file;
  // Returns the bytes of a constant in the file of that name. Throws an Error if it cannot be read.
  // They stay valid until the next call.
  std::function<std::span<const std::byte>(const std::string& name)> constant;
  FeatureLevel level;
};

// Takes a fault: the id of a rule, and a message that names node and field. `of_file` is the kind
// of fault of a constant's file, if the graph itself is right.
using GraphFaults = std::function<void(std::string_view code, const std::string& message,
                                       std::optional<ErrorKind> of_file)>;

// Returns null if there is a fault. No byte of the file is trusted.
std::shared_ptr<const Graph> ReadGraph(const GraphSource& source, const GraphFaults& report);

}  // namespace dmlop
