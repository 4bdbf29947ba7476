// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

#include "core/graph/graph_file.h"

namespace dmlop {
namespace {

constexpr auto kGraphInput = field::Input("input");
constexpr auto kGraphOutput = field::Output("output");

}  // namespace

std::vector<size_t> EdgesOf(const GraphNode& node, TensorRole role) {
  std::vector<size_t> edges;
  const std::vector<TensorSlot> slots = TensorSlots(node.op);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].role() == role) edges.push_back(node.edges[i]);
  }
  return edges;
}

std::vector<TensorSlot> SlotsOf(const Graph& graph) {
  std::vector<TensorSlot> slots;
  const auto add = [&](const std::vector<size_t>& edges, const Field& field) {
    for (const size_t number : edges) {
      const GraphEdge& edge = graph.edges[number];
      if (edge.desc) slots.push_back({edge.name, &field, &*edge.desc, TypeVariable::kT});
    }
  };
  add(graph.inputs, kGraphInput);
  add(graph.outputs, kGraphOutput);
  return slots;
}

// --- names ---------------------------------------------------------------------------------------

namespace {

GraphPort PortOf(const Graph& graph, size_t edge) {
  const GraphEdge& of = graph.edges[edge];
  if (!of.desc) return {.name = of.name, .type = DataType::kUnknown, .has_default = true};
  return {.name = of.name,
          .type = *of.desc->data_type,
          .sizes = {of.desc->sizes->begin(), of.desc->sizes->end()},
          .strides = of.desc->strides.value_or(std::vector<uint32_t>()),
          .edge = edge};
}

}  // namespace

std::shared_ptr<const NamedGraph> NamedAsItIs(const Graph& graph) {
  auto named = std::make_shared<NamedGraph>();
  named->graph = graph;
  for (const size_t edge : graph.inputs) named->inputs.push_back(PortOf(graph, edge));
  for (const size_t edge : graph.outputs) named->outputs.push_back(PortOf(graph, edge));
  for (size_t e = 0; e < graph.edges.size(); ++e) named->tensors.push_back(PortOf(graph, e));
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    named->nodes.push_back({node.name, std::string(node.op.name()), "", n, n + 1, {}});
  }
  return named;
}

// --- sizes ---------------------------------------------------------------------------------------

namespace {

namespace file = graph_file;

using Names = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;

class NameCounter {
 public:
  explicit NameCounter(std::span<const std::byte> bytes)
      : begin_(reinterpret_cast<const uint8_t*>(bytes.data())), verifier_(begin_, bytes.size()) {}

  // Returns false if anything does not lie within the file.
  bool Count() {
    const size_t root = verifier_.VerifyOffset(0);
    if (root == 0) return false;
    const auto& graph = *reinterpret_cast<const flatbuffers::Table*>(begin_ + root);
    if (!CountIn(graph, file::File::VT_INPUTS, file::File::VT_OUTPUTS)) return false;
    if (!graph.VerifyOffset(verifier_, file::File::VT_NODES)) return false;
    const auto* nodes = graph.GetPointer<const Tables*>(file::File::VT_NODES);
    if (!verifier_.VerifyVector(nodes)) return false;
    for (flatbuffers::uoffset_t i = 0; nodes != nullptr && i < nodes->size(); ++i) {
      if (!CountIn(*nodes->Get(i), file::Node::VT_INPUTS, file::Node::VT_OUTPUTS)) return false;
    }
    return true;
  }

  uint64_t count() const { return count_; }

 private:
  bool CountIn(const flatbuffers::Table& table, flatbuffers::voffset_t inputs,
               flatbuffers::voffset_t outputs) {
    flatbuffers::Verifier verifier = verifier_;  // a copy, as it counts tables
    return table.VerifyTableStart(verifier) && CountList(table, inputs) &&
           CountList(table, outputs);
  }

  bool CountList(const flatbuffers::Table& table, flatbuffers::voffset_t field) {
    if (!table.VerifyOffset(verifier_, field)) return false;
    const auto* names = table.GetPointer<const Names*>(field);
    if (!verifier_.VerifyVector(names)) return false;
    if (names != nullptr) count_ += names->size();
    return true;
  }

  const uint8_t* begin_;
  uint64_t count_ = 0;
  flatbuffers::Verifier verifier_;
};

struct Referred {
  static uint64_t Bytes(const flatbuffers::String* text) {
    return text == nullptr ? 0 : sizeof(flatbuffers::uoffset_t) + text->size();
  }

  template <typename T>
  static uint64_t Bytes(const flatbuffers::Vector<T>* numbers) {
    return numbers == nullptr ? 0 : uint64_t{numbers->size()} * sizeof(T);
  }

  template <typename T>
  static uint64_t Bytes(const flatbuffers::Vector<flatbuffers::Offset<T>>* parts) {
    if (parts == nullptr) return 0;
    uint64_t bytes = uint64_t{parts->size()} * sizeof(flatbuffers::uoffset_t);
    for (const T* part : *parts) bytes += Bytes(part);
    return bytes;
  }

  static uint64_t Bytes(const file::Tensor* tensor) {
    return Bytes(tensor->data_type()) + Bytes(tensor->sizes()) + Bytes(tensor->strides());
  }

  static uint64_t Bytes(const file::Activation* activation) {
    return Bytes(activation->type()) + Bytes(activation->attributes());
  }

  static uint64_t Bytes(const file::Attribute* attribute) {
    uint64_t bytes = Bytes(attribute->name());
    if (const auto* one = attribute->value_as_Activation()) bytes += Bytes(one);
    if (const auto* all = attribute->value_as_ActivationArray()) bytes += Bytes(all->activations());
    if (const auto* list = attribute->value_as_UintArray()) bytes += Bytes(list->numbers());
    if (const auto* list = attribute->value_as_IntArray()) bytes += Bytes(list->numbers());
    if (const auto* list = attribute->value_as_FloatArray()) bytes += Bytes(list->numbers());
    return bytes;
  }

  static uint64_t Bytes(const file::OperatorNode* node) {
    return Bytes(node->type()) + Bytes(node->inputs()) + Bytes(node->outputs()) +
           Bytes(node->attributes());
  }

  static uint64_t Bytes(const file::ConstantNode* node) {
    uint64_t bytes = 0;
    if (const auto* name = node->value_as_ConstantName()) bytes += Bytes(name->name());
    if (const auto* in_place = node->value_as_ConstantBytes()) bytes += Bytes(in_place->bytes());
    return bytes;
  }

  static uint64_t Bytes(const file::Node* node) {
    uint64_t bytes = Bytes(node->name()) + Bytes(node->inputs()) + Bytes(node->outputs());
    if (const auto* of_operator = node->kind_as_OperatorNode()) bytes += Bytes(of_operator);
    if (const auto* constant = node->kind_as_ConstantNode()) bytes += Bytes(constant);
    return bytes;
  }
};

}  // namespace

uint64_t MostBytesReferredTo(size_t file_size) {
  return uint64_t{file_size} * 64 + (uint64_t{1} << 24);
}

std::optional<uint64_t> CountNames(std::span<const std::byte> file) {
  NameCounter names(file);
  return names.Count() ? std::optional(names.count()) : std::nullopt;
}

uint64_t BytesReferredTo(const file::File& graph) {
  return Referred::Bytes(graph.nodes()) + Referred::Bytes(graph.inputs()) +
         Referred::Bytes(graph.outputs());
}

}  // namespace dmlop
