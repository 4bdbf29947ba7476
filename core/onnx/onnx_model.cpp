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
  for (WireMessage tensor = message.Within(bytes); tensor.Next();) {
    tensor.tag() == 8 ? static_cast<void>(name = tensor.Text()) : tensor.Skip();
  }
  return ParseTensorProto(bytes, fmt::format("tensor '{}'", name));
}

void ReadDimension(WireMessage message, OnnxDimension& dimension) {
  while (message.Next()) {
    switch (message.tag()) {
      case 1:
        dimension.size = message.Integer();
        break;
      case 2:
        dimension.name = message.Text();
        break;
      case 3:
        dimension.denotation = message.Text();
        break;
      default:
        message.Skip();
    }
  }
}

std::vector<OnnxDimension> ReadShape(WireMessage message) {
  std::vector<OnnxDimension> sizes;
  while (message.Next()) {
    if (message.tag() != 1) {
      message.Skip();
      continue;
    }
    if (sizes.size() == kMostDimensions) message.Fail("has a value of more than 1024 dimensions");
    ReadDimension(message.Message(), sizes.emplace_back());
  }
  return sizes;
}

void ReadTensorType(WireMessage message, OnnxValueInfo& value) {
  value.is_tensor = true;
  while (message.Next()) {
    if (message.tag() == 1) {
      value.element_type = static_cast<int32_t>(message.Integer());
    } else if (message.tag() == 2) {
      value.sizes = ReadShape(message.Message());
    } else {
      message.Skip();
    }
  }
}

void ReadType(WireMessage message, OnnxValueInfo& value) {
  while (message.Next()) {
    if (message.tag() == 1) {
      ReadTensorType(message.Message(), value);
    } else {
      message.Skip();
    }
  }
}

OnnxValueInfo ReadValueInfo(WireMessage message) {
  OnnxValueInfo value;
  while (message.Next()) {
    if (message.tag() == 1) {
      value.name = message.Text();
    } else if (message.tag() == 2) {
      ReadType(message.Message(), value);
    } else {
      message.Skip();
    }
  }
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
  while (message.Next()) {
    switch (message.tag()) {
      case 1:
        attribute.name = message.Text();
        break;
      case 2:
        attribute.floats.push_back(message.Float());
        break;
      case 3:
        attribute.ints.push_back(message.Integer());
        break;
      case 4:
      case 9:
        attribute.strings.push_back(message.Text());
        break;
      case 5:
        attribute.tensor = ParseTensor(message);
        break;
      case 6:
        attribute.graph = std::make_shared<OnnxGraph>(ReadGraph(message.Message(), depth + 1));
        break;
      case 7:
        message.EachFloat([&](float number) { attribute.floats.push_back(number); });
        break;
      case 8:
        message.EachInteger([&](int64_t number) { attribute.ints.push_back(number); });
        break;
      case 20:
        attribute.kind = KindOf(message.Integer());
        break;
      case 21:
        attribute.reference = message.Text();
        break;
      default:
        message.Skip();
    }
  }
  if (attribute.kind == OnnxAttribute::Kind::kNone) attribute.kind = ImpliedKind(attribute);
  return attribute;
}

OnnxNode ReadNode(WireMessage message, int depth) {
  OnnxNode node;
  while (message.Next()) {
    switch (message.tag()) {
      case 1:
        node.inputs.push_back(message.Text());
        break;
      case 2:
        node.outputs.push_back(message.Text());
        break;
      case 3:
        node.name = message.Text();
        break;
      case 4:
        node.op_type = message.Text();
        break;
      case 5:
        node.attributes.push_back(ReadAttribute(message.Message(), depth));
        break;
      case 7:
        node.domain = DomainOf(message.Text());
        break;
      case 8:
        node.overload = message.Text();
        break;
      default:
        message.Skip();
    }
  }
  if (node.op_type.empty()) message.Fail("has a node without an operator");
  return node;
}

// Reads the node of a field.
void AddNode(WireMessage& message, int depth, std::vector<OnnxNode>& nodes) {
  if (nodes.size() == kMostNodes) {
    message.Fail("has a graph of more than {} nodes", kMostNodes);
  }
  nodes.push_back(ReadNode(message.Message(), depth));
}

// A sparse tensor has the name of its values.
std::string_view NameOfSparse(WireMessage message) {
  std::string_view name = "?";
  while (message.Next()) {
    if (message.tag() == 1) {
      name = ParseTensor(message).name;
    } else {
      message.Skip();
    }
  }
  return name;
}

OnnxGraph ReadGraph(WireMessage message, int depth) {
  if (depth > kMostNested) {
    message.Fail("has graphs nested more than {} deep", kMostNested);
  }
  OnnxGraph graph;
  while (message.Next()) {
    switch (message.tag()) {
      case 1:
        AddNode(message, depth, graph.nodes);
        break;
      case 2:
        graph.name = message.Text();
        break;
      case 5:
        graph.initializers.push_back(ParseTensor(message));
        break;
      case 11:
        graph.inputs.push_back(ReadValueInfo(message.Message()));
        break;
      case 12:
        graph.outputs.push_back(ReadValueInfo(message.Message()));
        break;
      case 13:
        graph.values.push_back(ReadValueInfo(message.Message()));
        break;
      case 15:
        graph.sparse_initializers.push_back(NameOfSparse(message.Message()));
        break;
      default:
        message.Skip();
    }
  }
  return graph;
}

void ReadOpset(WireMessage message, OnnxOpsets& opsets) {
  std::string_view domain;
  int64_t version = 0;
  while (message.Next()) {
    if (message.tag() == 1) {
      domain = DomainOf(message.Text());
    } else if (message.tag() == 2) {
      version = message.Integer();
    } else {
      message.Skip();
    }
  }
  opsets[domain] = version;
}

OnnxFunction ReadFunction(WireMessage message) {
  OnnxFunction function;
  while (message.Next()) {
    switch (message.tag()) {
      case 1:
        function.name = message.Text();
        break;
      case 4:
        function.inputs.push_back(message.Text());
        break;
      case 5:
        function.outputs.push_back(message.Text());
        break;
      case 6:
        function.required.push_back(message.Text());
        break;
      case 7:
        AddNode(message, 1, function.nodes);
        break;
      case 9:
        ReadOpset(message.Message(), function.opsets);
        break;
      case 10:
        function.domain = DomainOf(message.Text());
        break;
      case 11:
        function.defaults.push_back(ReadAttribute(message.Message(), 1));
        break;
      case 13:
        function.overload = message.Text();
        break;
      default:
        message.Skip();
    }
  }
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
  while (message.Next()) {
    switch (message.tag()) {
      case 1:
        model.ir_version = message.Integer();
        break;
      case 2:
        model.producer = message.Text();
        break;
      case 7:
        model.graph = ReadGraph(message.Message(), 1);
        has_graph = true;
        break;
      case 8:
        ReadOpset(message.Message(), model.opsets);
        break;
      case 25:
        model.functions.push_back(ReadFunction(message.Message()));
        break;
      default:
        message.Skip();
    }
  }
  if (!has_graph) message.Fail("is no ONNX model: it has no graph");
  if (model.opsets.empty()) message.Fail("is no ONNX model, or cut off: it states no opset_import");
  return model;
}

}  // namespace dmlop
