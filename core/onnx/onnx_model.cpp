// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/onnx/wire_message.h"

namespace dmlop {
namespace {

constexpr int kMostNested = 64;           // graphs in graphs
constexpr size_t kMostNodes = 1 << 20;    // of a graph
constexpr size_t kMostDimensions = 1024;  // of a value; those that run have 8

OnnxGraph ReadGraph(WireMessage message, int depth);

// Reads the tensor of a field; its name tells where a fault is.
TensorProto ParseTensor(WireMessage& message) {
  const std::span<const std::byte> bytes = message.Bytes();
  std::string_view name;
  message.Within(bytes).Read({{8, name}});
  return ParseTensorProto(bytes, fmt::format("tensor '{}'", name));
}

OnnxDimension ReadDimension(WireMessage message) {
  OnnxDimension dimension;
  message.Read({{1, [&] { dimension.size = message.Integer(); }},
                {2, dimension.name},
                {3, dimension.denotation}});
  return dimension;
}

std::vector<OnnxDimension> ReadShape(WireMessage message) {
  std::vector<OnnxDimension> sizes;
  const auto add = [&] {
    if (sizes.size() == kMostDimensions) message.Fail("has a value of more than 1024 dimensions");
    sizes.push_back(ReadDimension(message.Message()));
  };
  message.Read({{1, add}});
  return sizes;
}

void ReadTensorType(WireMessage message, OnnxValueInfo& value) {
  value.is_tensor = true;
  message.Read({{1, [&] { value.element_type = static_cast<int32_t>(message.Integer()); }},
                {2, [&] { value.sizes = ReadShape(message.Message()); }}});
}

void ReadType(WireMessage message, OnnxValueInfo& value) {
  message.Read({{1, [&] { ReadTensorType(message.Message(), value); }}});
}

OnnxValueInfo ReadValueInfo(WireMessage message) {
  OnnxValueInfo value;
  message.Read({{1, value.name}, {2, [&] { ReadType(message.Message(), value); }}});
  if (value.name.empty()) message.Fail("has an input or output without a name");
  return value;
}

OnnxAttribute::Kind KindOf(int64_t number) {
  using Kind = OnnxAttribute::Kind;
  return 0 < number && number < static_cast<int64_t>(Kind::kOther) ? static_cast<Kind>(number)
                                                                   : Kind::kOther;
}

// The kind of an attribute of an old file, which states none.
OnnxAttribute::Kind ImpliedKind(const OnnxAttribute& attribute) {
  using Kind = OnnxAttribute::Kind;
  if (attribute.tensor) return Kind::kTensor;
  if (attribute.graph) return Kind::kGraph;
  if (!attribute.strings.empty()) return Kind::kStrings;
  return attribute.floats.empty() ? Kind::kInts : Kind::kFloats;
}

OnnxAttribute ReadAttribute(WireMessage message, int depth) {
  OnnxAttribute attribute;
  const auto read_graph = [&] {
    attribute.graph = std::make_shared<OnnxGraph>(ReadGraph(message.Message(), depth + 1));
  };
  message.Read({
      {1, attribute.name},
      {2, [&] { attribute.floats.push_back(message.Float()); }},
      {3, [&] { attribute.ints.push_back(message.Integer()); }},
      {4, attribute.strings},
      {5, [&] { attribute.tensor = ParseTensor(message); }},
      {6, read_graph},
      {7, [&] { message.EachFloat([&](float number) { attribute.floats.push_back(number); }); }},
      {8, [&] { message.EachInteger([&](int64_t number) { attribute.ints.push_back(number); }); }},
      {9, attribute.strings},
      {20, [&] { attribute.kind = KindOf(message.Integer()); }},
      {21, attribute.reference},
  });
  if (attribute.kind == OnnxAttribute::Kind::kNone) attribute.kind = ImpliedKind(attribute);
  return attribute;
}

OnnxNode ReadNode(WireMessage message, int depth) {
  OnnxNode node;
  message.Read({
      {1, node.inputs},
      {2, node.outputs},
      {3, node.name},
      {4, node.op_type},
      {5, [&] { node.attributes.push_back(ReadAttribute(message.Message(), depth)); }},
      {7, [&] { node.domain = DomainOf(message.Text()); }},
      {8, node.overload},
  });
  if (node.op_type.empty()) message.Fail("has a node without an operator");
  return node;
}

// Reads the node of a field.
void AddNode(WireMessage& message, int depth, std::vector<OnnxNode>& nodes) {
  if (nodes.size() == kMostNodes) message.Fail("has a graph of more than {} nodes", kMostNodes);
  nodes.push_back(ReadNode(message.Message(), depth));
}

// A sparse tensor has the name of its values.
std::string_view NameOfSparse(WireMessage message) {
  std::string_view name = "?";
  message.Read({{1, [&] { name = ParseTensor(message).name; }}});
  return name;
}

OnnxGraph ReadGraph(WireMessage message, int depth) {
  if (depth > kMostNested) message.Fail("has graphs nested more than {} deep", kMostNested);
  OnnxGraph graph;
  const auto add_info = [&](std::vector<OnnxValueInfo>& infos) {
    return [&] { infos.push_back(ReadValueInfo(message.Message())); };
  };
  message.Read({
      {1, [&] { AddNode(message, depth, graph.nodes); }},
      {2, graph.name},
      {5, [&] { graph.initializers.push_back(ParseTensor(message)); }},
      {11, add_info(graph.inputs)},
      {12, add_info(graph.outputs)},
      {13, add_info(graph.values)},
      {15, [&] { graph.sparse_initializers.push_back(NameOfSparse(message.Message())); }},
  });
  return graph;
}

void ReadOpset(WireMessage message, OnnxOpsets& opsets) {
  std::string_view domain;
  int64_t version = 0;
  message.Read({{1, [&] { domain = DomainOf(message.Text()); }}, {2, version}});
  opsets[domain] = version;
}

OnnxFunction ReadFunction(WireMessage message) {
  OnnxFunction function;
  message.Read({
      {1, function.name},
      {4, function.inputs},
      {5, function.outputs},
      {6, function.required},
      {7, [&] { AddNode(message, 1, function.nodes); }},
      {9, [&] { ReadOpset(message.Message(), function.opsets); }},
      {10, [&] { function.domain = DomainOf(message.Text()); }},
      {11, [&] { function.defaults.push_back(ReadAttribute(message.Message(), 1)); }},
      {13, function.overload},
  });
  return function;
}

}  // namespace

const OnnxAttribute* OnnxNode::Find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &OnnxAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

OnnxModel ReadOnnxModel(std::span<const std::byte> file, const std::string& name) {
  OnnxModel model;
  WireMessage message(file, file, name);
  bool has_graph = false;
  const auto read_graph = [&] {
    model.graph = ReadGraph(message.Message(), 1);
    has_graph = true;
  };
  message.Read({
      {1, model.ir_version},
      {2, model.producer},
      {7, read_graph},
      {8, [&] { ReadOpset(message.Message(), model.opsets); }},
      {25, [&] { model.functions.push_back(ReadFunction(message.Message())); }},
  });
  if (!has_graph) message.Fail("is no ONNX model: it has no graph");
  if (model.opsets.empty()) message.Fail("is no ONNX model, or cut off: it states no opset_import");
  return model;
}

}  // namespace dmlop
