// SPDX-License-Identifier: Apache-2.0
// A DirectML graph: operators, and the edges between them. An edge is a tensor in memory that one
// node fills and others read, each by a desc of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

struct Graph {
  std::vector<GraphEdge> edges;
  std::vector<GraphNode> nodes;         // each after those that compute what it reads
  std::vector<size_t> inputs, outputs;  // indices of edges
};

// Returns the slots to which a graph is bound: its inputs that a node reads, then its outputs. The
// graph must outlive them.
std::vector<TensorSlot> SlotsOf(const Graph& graph);

}  // namespace dmlop
