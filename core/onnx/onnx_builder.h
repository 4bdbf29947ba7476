// SPDX-License-Identifier: Apache-2.0
// Builds a graph while a model is read: its edges are the model's values, some of which are known,
// because they are constants or because all that they are computed from is known.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/io/file.h"
#include "core/onnx/onnx_import.h"
#include "core/onnx/onnx_node.h"

namespace dmlop {

class OnnxBuilder {
 public:
  explicit OnnxBuilder(const OnnxSource& source) : source_(source), level_(source.level) {}

  FeatureLevel level() const { return level_; }

  // A value that nothing computes yet. Its address does not change.
  OnnxValue& Add(std::string name, OnnxType type, const OnnxSizes& sizes);

  // Makes a value an input of the graph; `known` is the tensor bound to it, if any.
  void AddInput(OnnxValue& value, const ConstTensorView* known);

  // Gives a value its elements, without gaps and of 4 bits packed. The owner keeps them alive.
  void SetConstant(OnnxValue& value, GraphConstant elements);
  // Does the same with a copy of them.
  void SetCopied(OnnxValue& value, std::span<const std::byte> elements);

  // Does the same with a tensor of the model. Throws an OnnxRefusal, or an Error for its external
  // data.
  void SetTensor(OnnxValue& value, const TensorProto& tensor);

  // Adds a node with a complete and valid descriptor. The values are those of its slots; outputs
  // have no edge yet.
  void AddNode(const std::string& name, OperatorDesc op, const std::vector<OnnxValue*>& values);

  // Returns the elements of a value if they can be known; computes them if need be.
  std::optional<KnownElements> Known(const OnnxValue& value);

  size_t node_count() const { return graph_.nodes.size(); }
  const GraphNode& node(size_t node) const { return graph_.nodes[node]; }
  // Returns whether all outputs have been computed.
  bool IsKnown(const GraphNode& node) const;
  void Rename(size_t node, std::string name) { graph_.nodes[node].name = std::move(name); }

  // Makes values outputs of the graph, with their names: each gets an edge of its own that a node
  // fills. Returns the edges, none for empty values.
  std::vector<std::optional<size_t>> SetOutputs(const std::vector<OnnxValue*>& values,
                                                const std::vector<std::string>& names);

  // Returns the graph without the nodes whose outputs are known, and how many nodes are left of the
  // first n, for each n.
  std::vector<size_t> RemoveKnownNodes();
  Graph Take() { return std::move(graph_); }

  const std::deque<OnnxValue>& values() const { return values_; }

 private:
  static constexpr int64_t kMostKnown = 1 << 20;       // elements of a value
  static constexpr int64_t kMostOperations = 1 << 26;  // multiply-adds of a node

  struct EdgeState {
    std::optional<size_t> producer;  // node that computes it
    bool can_be_known = false;
    std::optional<std::span<const std::byte>> known;
    DataType type = DataType::kUnknown;
  };

  size_t AddEdge(OnnxValue& value);
  LoadedTensor ElementsOf(const TensorProto& tensor, const std::string& place);
  // Gives an edge that no node fills the desc of its value, whatever the layout in which it is
  // read.
  void Reads(OnnxValue& value);
  void Evaluate(size_t edge);
  void Run(const GraphNode& node);

  const OnnxSource& source_;
  FeatureLevel level_;
  std::map<std::string, InputFile> files_;  // with external data, by their locations
  Graph graph_;
  std::deque<OnnxValue> values_;
  std::vector<EdgeState> states_;                            // by edge
  std::vector<std::shared_ptr<const Buffer>> known_inputs_;  // of bound tensors
};

}  // namespace dmlop
