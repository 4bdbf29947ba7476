// A DirectML graph: operators, and the edges that lead from one to the other. An edge is a tensor
// in memory that one node fills and others read, each by a desc of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ops/operator.h"
#include "core/tensor/tensor.h"

namespace dmlop {

struct GraphEdge {
  std::string name;
  // Of the node that computes it; of an input or constant, of the node that reads most of it. None
  // for what nobody reads or computes.
  std::optional<TensorDesc> desc;
  std::optional<Buffer> constant;  // as long as its desc needs
};

struct GraphNode {
  std::string name;
  OperatorDesc op;            // complete and valid
  std::vector<size_t> edges;  // by slot of the operator
};

struct Graph {
  std::vector<GraphEdge> edges;
  std::vector<GraphNode> nodes;         // each behind those that compute what it reads
  std::vector<size_t> inputs, outputs;  // edges
};

// What a graph is bound by: its inputs that a node reads, then its outputs. The graph must outlive
// them.
std::vector<TensorSlot> SlotsOf(const Graph& graph);

}  // namespace dmlop
