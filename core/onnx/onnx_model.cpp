// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <protozero/pbf_reader.hpp>
#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/io/wire_bytes.h"

namespace dmlop {

// --- messages ------------------------------------------------------------------------------------

struct WireField;

// A message of protocol buffers in the bytes of a file, read field by field. Nothing is copied, and
// no byte is trusted: what does not fit is an Error of kind kTensorFile that names its place.
class WireMessage {
 public:
  // `file` is the whole file, called `name`, in which the message lies; both must outlive it.
  WireMessage(std::span<const std::byte> message, std::span<const std::byte> file,
              const std::string& name)
      : file_(file),
        name_(name),
        reader_(reinterpret_cast<const char*>(message.data()), message.size()) {}

  // Reads the message to its end; fields that are not listed are skipped.
  void Read(std::initializer_list<WireField> fields);

  // The value of the current field, which must be of that kind.
  std::span<const std::byte> Bytes() {
    Expect(Type::length_delimited, "text, bytes or a message");
    return Guarded([&] { return TakeBytes(reader_); });
  }

  // Characters in UTF-8, at most kLongestText bytes
  std::string_view Text() {
    const std::span<const std::byte> bytes = Bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (text.size() > kLongestText) {
      Fail("has a text of {} bytes; {} are the most", text.size(), kLongestText);
    }
    if (ValidCharacters(text) != text.size()) Fail("has a text that is not UTF-8");
    return text;
  }

  WireMessage Message() { return Within(Bytes()); }

  int64_t Integer() {
    Expect(Type::varint, "an integer");
    return Guarded([&] { return reader_.get_int64(); });
  }

  float Float() {
    Expect(Type::fixed32, "a number of 32 bits");
    return Guarded([&] { return reader_.get_float(); });
  }

  // A message in bytes of the same file.
  WireMessage Within(std::span<const std::byte> bytes) const { return {bytes, file_, name_}; }

  // Calls take(number) for each number of a repeated field, packed or not.
  void EachInteger(const std::function<void(int64_t)>& take) {
    if (reader_.wire_type() != Type::length_delimited) return take(Integer());
    Guarded([&] {
      for (const int64_t number : reader_.get_packed_int64()) take(number);
    });
  }

  void EachFloat(const std::function<void(float)>& take) {
    if (reader_.wire_type() != Type::length_delimited) return take(Float());
    Guarded([&] {
      for (const float number : reader_.get_packed_float()) take(number);
    });
  }

  // Fails at the current place: "x.onnx: ... at byte 12".
  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> text, Args&&... args) const {
    FailAt(fmt::format(text, std::forward<Args>(args)...));
  }

  static constexpr size_t kLongestText = 64 << 10;

 private:
  using Type = protozero::pbf_wire_type;

  uint32_t tag() const { return static_cast<uint32_t>(reader_.tag()); }

  [[noreturn]] void FailAt(std::string_view what) const {
    const auto* at = reinterpret_cast<const std::byte*>(reader_.data().data());
    throw Error(ErrorKind::kTensorFile, "{}: {}, at byte {} of {}", name_, what, at - file_.data(),
                file_.size());
  }

  template <typename Body>
  std::invoke_result_t<Body> Guarded(Body&& body) {
    try {
      return body();
    } catch (const protozero::end_of_buffer_exception&) {
      Fail("is cut off: a field goes beyond the end of its message");
    } catch (const protozero::exception&) {
      Fail("is damaged: no field of a message begins");
    }
  }

  void Expect(Type type, std::string_view what) const {
    if (reader_.wire_type() != type) Fail("is damaged: field {} is not {}", tag(), what);
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  protozero::pbf_reader reader_;
};

// The number of a field, and what takes each value of it: a variable, a list of texts, or a
// function that reads it from the message.
struct WireField {
  WireField(uint32_t tag_, std::string_view& text)
      : tag(tag_), take([&text](WireMessage& message) { text = message.Text(); }) {}

  WireField(uint32_t tag_, std::vector<std::string_view>& texts)
      : tag(tag_), take([&texts](WireMessage& message) { texts.push_back(message.Text()); }) {}

  WireField(uint32_t tag_, int64_t& number)
      : tag(tag_), take([&number](WireMessage& message) { number = message.Integer(); }) {}

  WireField(uint32_t tag_, std::invocable auto read)
      : tag(tag_), take([read](WireMessage&) { read(); }) {}

  uint32_t tag;
  std::function<void(WireMessage&)> take;
};

void WireMessage::Read(std::initializer_list<WireField> fields) {
  while (Guarded([&] { return reader_.next(); })) {
    const auto* field = std::ranges::find(fields, tag(), &WireField::tag);
    if (field != fields.end()) {
      field->take(*this);
    } else {
      Guarded([&] { SkipField(reader_); });
    }
  }
}

// --- models --------------------------------------------------------------------------------------

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
