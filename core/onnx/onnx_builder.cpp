// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_builder.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/ops/pieces.h"
#include "core/tensor/element.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

// A buffer with these bytes, where elements are aligned.
Buffer CopyOf(std::span<const std::byte> bytes, size_t size) {
  Buffer copy(std::max(size, bytes.size()));
  std::ranges::copy(bytes, copy.data());
  return copy;
}

}  // namespace

OnnxValue& OnnxBuilder::Add(std::string name, OnnxType type, const OnnxSizes& sizes) {
  values_.push_back({std::move(name), type, sizes});
  return values_.back();
}

size_t OnnxBuilder::AddEdge(OnnxValue& value) {
  value.edge = graph_.edges.size();
  graph_.edges.push_back({value.name, std::nullopt, std::nullopt});
  states_.emplace_back().type = value.type.type;
  return value.edge;
}

void OnnxBuilder::AddInput(OnnxValue& value, const ConstTensorView* known) {
  graph_.inputs.push_back(AddEdge(value));
  if (known == nullptr || CountOf(value.sizes) > kMostKnown || HasNibbles(known->type)) return;
  auto packed = std::make_shared<Buffer>(static_cast<size_t>(known->element_bytes()));
  CopyElements(*known, {packed->data(), known->type, PackedLayout(known->layout.sizes)});
  EdgeState& state = states_[value.edge];
  state.known = packed->bytes();
  state.can_be_known = true;
  known_inputs_.push_back(std::move(packed));
}

void OnnxBuilder::SetConstant(OnnxValue& value, GraphConstant elements) {
  if (value.empty()) return;
  EdgeState& state = states_[AddEdge(value)];
  state.known = elements.bytes;
  state.can_be_known = CountOf(value.sizes) <= kMostKnown;
  graph_.edges[value.edge].constant = std::move(elements);
}

void OnnxBuilder::SetCopied(OnnxValue& value, std::span<const std::byte> elements) {
  const auto copy = std::make_shared<const Buffer>(CopyOf(elements, 0));
  SetConstant(value, {copy->bytes(), copy});
}

// The elements where they lie: in the model's file or in one beside it.
LoadedTensor OnnxBuilder::ElementsOf(const TensorProto& tensor, const std::string& place) {
  if (!tensor.external) return TensorOf(tensor, source_.owner, place, Placement::kAsStored);
  const auto& [location, offset, length, fault] = *tensor.external;
  if (!fault.empty()) throw Error(ErrorKind::kTensorFile, fault);
  auto known = files_.find(location);
  if (known == files_.end()) known = files_.emplace(location, source_.external(location)).first;
  const auto file = std::make_shared<const InputFile>(known->second);
  const std::span<const std::byte> bytes = file->bytes();
  const uint64_t size = length.value_or(tensor.data_size());
  if (offset > bytes.size() || size > bytes.size() - offset) {
    FailTensorFile(location, "has {}; its tensor wants {} from byte {} on",
                   Counted(bytes.size(), "byte"), size, offset);
  }
  return TensorIn(tensor, bytes.subspan(offset, size), file, place, Placement::kAsStored);
}

void OnnxBuilder::SetTensor(OnnxValue& value, const TensorProto& tensor) {
  const LoadedTensor elements = ElementsOf(tensor, "its data");
  const auto size = static_cast<size_t>(elements.view.element_bytes());
  const std::span<const std::byte> bytes(elements.view.data, size);
  const bool is_mapped = tensor.external || (tensor.raw_data && source_.is_mapped);
  if (!HasNibbles(value.type.type)) return SetConstant(value, {bytes, elements.storage, is_mapped});
  std::vector<std::byte> packed(tensor.data_size());
  PackNibbles(bytes, packed);
  SetCopied(value, packed);
}

void OnnxBuilder::Reads(OnnxValue& value) {
  GraphEdge& edge = graph_.edges[value.edge];
  if (!states_[value.edge].producer) edge.desc = Packed(value).desc;
}

void OnnxBuilder::AddNode(const std::string& name, OperatorDesc op,
                          const std::vector<OnnxValue*>& values) {
  GraphNode node{name, std::move(op), {}};
  bool can_be_known = OperationsOf(node.op) <= kMostOperations;
  const std::vector<TensorSlot> slots = TensorSlots(std::as_const(node.op));
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].role() != TensorRole::kInput) continue;
    Reads(*values[i]);
    can_be_known = can_be_known && states_[values[i]->edge].can_be_known;
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].role() == TensorRole::kOutput) {
      graph_.edges[AddEdge(*values[i])].desc = Packed(*values[i]).desc;
      states_.back().producer = graph_.nodes.size();
      const int64_t count = LayoutOf(*slots[i].desc).element_count();
      can_be_known = can_be_known && count <= kMostKnown;
    }
    node.edges.push_back(values[i]->edge);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].role() == TensorRole::kOutput) states_[node.edges[i]].can_be_known = can_be_known;
  }
  graph_.nodes.push_back(std::move(node));
}

std::optional<KnownElements> OnnxBuilder::Known(const OnnxValue& value) {
  if (value.empty()) return KnownElements{value.type.type, 0, nullptr};
  EdgeState& state = states_[value.edge];
  if (!state.can_be_known) return std::nullopt;
  if (!state.known) Evaluate(value.edge);
  return KnownElements{state.type, CountOf(value.sizes), state.known->data()};
}

void OnnxBuilder::Evaluate(size_t edge) {
  std::set<size_t> needed;  // nodes, in the order in which they run
  std::vector<size_t> edges = {edge};
  while (!edges.empty()) {
    const EdgeState& state = states_[edges.back()];
    edges.pop_back();
    if (state.known || !needed.insert(*state.producer).second) continue;
    const auto read = EdgesOf(graph_.nodes[*state.producer], TensorRole::kInput);
    edges.insert(edges.end(), read.begin(), read.end());
  }
  for (const size_t node : needed) Run(graph_.nodes[node]);
}

void OnnxBuilder::Run(const GraphNode& node) {
  RoleViews views;
  std::vector<Buffer> inputs;
  std::vector<std::pair<size_t, std::shared_ptr<Buffer>>> outputs;
  const std::vector<TensorSlot> slots = TensorSlots(node.op);
  for (size_t i = 0; i < slots.size(); ++i) {
    const TensorDesc& desc = *slots[i].desc;
    const size_t edge = node.edges[i];
    std::byte* data;
    if (slots[i].role() == TensorRole::kInput) {
      data = inputs.emplace_back(CopyOf(*states_[edge].known, SizeInBytes(desc))).data();
    } else {
      data = outputs.emplace_back(edge, std::make_shared<Buffer>(SizeInBytes(desc))).second->data();
    }
    views.Add(slots[i].role(), {data, *desc.data_type, LayoutOf(desc)});
  }
  RunOnBuffers(node.op, views.inputs, views.outputs);
  for (auto& [edge, buffer] : outputs) {
    states_[edge].known = buffer->bytes();
    graph_.edges[edge].constant = GraphConstant{buffer->bytes(), buffer};
  }
}

std::vector<std::optional<size_t>> OnnxBuilder::SetOutputs(const std::vector<OnnxValue*>& values,
                                                           const std::vector<std::string>& names) {
  std::set<size_t> taken;
  std::vector<std::optional<size_t>> edges;
  for (size_t i = 0; i < values.size(); ++i) {
    OnnxValue* const value = values[i];
    if (value->empty()) {
      edges.emplace_back();
      continue;
    }
    const bool is_computed =
        states_[value->edge].producer && !graph_.edges[value->edge].constant.has_value();
    size_t edge = value->edge;
    if (!is_computed || !taken.insert(edge).second) {
      OnnxValue& copy = Add(names[i], value->type, value->sizes);
      if (graph_.edges[edge].constant) graph_.edges[edge].name += "/known";
      OperatorDesc op(CopyOperator());
      op.at(kInputTensor) = Packed(*value).desc;
      op.at(kOutputTensor) = Packed(*value).desc;
      Diagnostics none;
      Check(op, kHighestFeatureLevel, none);
      AddNode(names[i], std::move(op), {value, &copy});
      edge = copy.edge;
    }
    graph_.edges[edge].name = names[i];
    graph_.outputs.push_back(edge);
    edges.emplace_back(edge);
  }
  return edges;
}

bool OnnxBuilder::IsKnown(const GraphNode& node) const {
  return std::ranges::all_of(EdgesOf(node, TensorRole::kOutput),
                             [&](size_t edge) { return graph_.edges[edge].constant.has_value(); });
}

std::vector<size_t> OnnxBuilder::RemoveKnownNodes() {
  std::vector<size_t> left = {0};
  std::vector<GraphNode> nodes;
  for (GraphNode& node : graph_.nodes) {
    if (!IsKnown(node)) nodes.push_back(std::move(node));
    left.push_back(nodes.size());
  }
  graph_.nodes = std::move(nodes);
  return left;
}

}  // namespace dmlop
