// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/text.h"
#include "core/graph/graph_file.h"

namespace dmlop {
namespace {

namespace file = graph_file;

using Names = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

// No table is nested deeper than an activation in an attribute of a node.
constexpr flatbuffers::uoffset_t kMaxDepth = 16;
constexpr flatbuffers::uoffset_t kMaxTables = 1 << 24;

std::vector<std::string> TextsOf(const Names* names) {
  std::vector<std::string> texts;
  if (names == nullptr) return texts;
  for (const flatbuffers::String* name : *names) {
    texts.push_back(name == nullptr ? std::string() : name->str());
  }
  return texts;
}

std::vector<bool> AreThere(const std::vector<std::string>& names) {
  std::vector<bool> are_there;
  for (const std::string& name : names) are_there.push_back(!name.empty());
  return are_there;
}

class GraphReader {
 public:
  GraphReader(const GraphSource& source, const GraphFaults& report)
      : source_(source), report_(report) {}

  std::shared_ptr<const Graph> Read() {
    const auto* bytes = reinterpret_cast<const uint8_t*>(source_.file.data());
    flatbuffers::Verifier verifier(bytes, source_.file.size(), kMaxDepth, kMaxTables);
    const uint64_t most = MostBytesReferredTo(source_.file.size());
    const auto names = CountNames(source_.file);
    const bool has_few_names = names && *names <= most / sizeof(flatbuffers::uoffset_t);
    if (!names || (has_few_names && !verifier.VerifyBuffer<file::File>(nullptr))) {
      report_("SGR-4", "is not a serialized DirectML graph", std::nullopt);
      return nullptr;
    }
    const file::File& graph = *file::GetFile(bytes);
    if (!has_few_names || BytesReferredTo(graph) > most) {
      report_("SGR-4",
              fmt::format("is far more than its {}: its parts refer to more than {} in all, "
                          "each time that one is shared",
                          Counted(source_.file.size(), "byte"), most),
              std::nullopt);
      return nullptr;
    }
    Fill(graph);
    return is_right_ ? graph_ : nullptr;
  }

 private:
  template <typename... Args>
  void Fail(std::string_view code, fmt::format_string<Args...> text, Args&&... args) {
    is_right_ = false;
    report_(code, fmt::format(text, std::forward<Args>(args)...), std::nullopt);
  }

  void FailFile(ErrorKind kind, const GraphEdge& edge, std::string_view what) {
    is_right_ = false;
    report_("SGR-3", fmt::format("the constant '{}': {}", edge.name, what), kind);
  }

  void Fill(const file::File& graph) {
    for (const std::string& name : TextsOf(graph.inputs())) {
      if (const auto edge = AddEdge(name, "the graph")) graph_->inputs.push_back(*edge);
    }
    if (graph.nodes() != nullptr) {
      for (const file::Node* node : *graph.nodes()) ReadNode(*node);
    }
    for (const std::string& name : TextsOf(graph.outputs())) AddOutput(name);
    for (GraphEdge& edge : graph_->edges) FillConstant(edge);
  }

  // Adds an edge that `filler` fills.
  std::optional<size_t> AddEdge(const std::string& name, std::string_view filler) {
    if (name.empty()) {
      Fail("SGR-1", "{}: a tensor without a name", filler);
      return std::nullopt;
    }
    const size_t number = graph_->edges.size();
    if (!edge_names_.emplace(name, number).second) {
      Fail("SGR-1", "{}: '{}' is filled twice", filler, name);
      return std::nullopt;
    }
    graph_->edges.push_back({name, std::nullopt, std::nullopt});
    return number;
  }

  void AddOutput(const std::string& name) {
    const auto found = edge_names_.find(name);
    if (found == edge_names_.end() || !is_computed_.contains(found->second)) {
      Fail("SGR-1", "no node computes the graph's output '{}'", name);
    } else if (!is_output_.insert(found->second).second) {
      Fail("SGR-1", "the graph has the output '{}' twice", name);
    } else {
      graph_->outputs.push_back(found->second);
    }
  }

  void ReadNode(const file::Node& node) {
    const std::string name = node.name() == nullptr ? "" : node.name()->str();
    if (name.empty()) Fail("SGR-4", "a node without a name");
    const std::string place = fmt::format("node '{}'", name);
    if (const auto* of_operator = node.kind_as_OperatorNode()) {
      ReadOperator(*of_operator, node, name, place);
    } else if (const auto* constant = node.kind_as_ConstantNode()) {
      ReadConstant(*constant, node, place);
    } else {
      Fail("SGR-4", "{}: is neither an operator nor a constant", place);
    }
  }

  // --- operators ---------------------------------------------------------------------------------

  void ReadOperator(const file::OperatorNode& of_operator, const file::Node& node,
                    const std::string& name, const std::string& place) {
    const std::vector<std::string> inputs = TextsOf(node.inputs());
    const std::vector<std::string> outputs = TextsOf(node.outputs());
    auto op =
        OperatorOf(of_operator, AreThere(inputs), AreThere(outputs),
                   [&](const std::string& message) { Fail("SGR-2", "{}: {}", place, message); });
    if (op) CheckOperator(*op, place);
    std::vector<size_t> read = EdgesRead(inputs, place);
    std::vector<size_t> filled;
    for (const std::string& output : outputs) {
      if (output.empty()) continue;
      if (const auto edge = AddEdge(output, place)) filled.push_back(*edge);
    }
    for (const size_t edge : filled) is_computed_.insert(edge);
    if (op && is_right_) Connect(name, *std::move(op), read, filled, place);
  }

  void CheckOperator(OperatorDesc& op, const std::string& place) {
    Diagnostics found;
    Check(op, source_.level, found);
    for (const Diagnostic& one : found.list()) {
      if (one.severity != Severity::kError) continue;
      Fail(one.code, "{}: {} {}: {}", place, op.name(), one.pointer, one.message);
    }
  }

  std::vector<size_t> EdgesRead(const std::vector<std::string>& names, const std::string& place) {
    std::vector<size_t> edges;
    for (const std::string& name : names) {
      if (name.empty()) continue;
      const auto found = edge_names_.find(name);
      if (found == edge_names_.end()) {
        Fail("SGR-1", "{}: reads '{}', which is no input of the graph and no node before fills",
             place, name);
      } else {
        edges.push_back(found->second);
      }
    }
    return edges;
  }

  // Slots of one role are in the order of the names.
  void Connect(const std::string& name, OperatorDesc op, const std::vector<size_t>& read,
               const std::vector<size_t>& filled, const std::string& place) {
    GraphNode node{name, std::move(op), {}};
    size_t next_read = 0;
    size_t next_filled = 0;
    for (const TensorSlot& slot : TensorSlots(std::as_const(node.op))) {
      const bool reads = slot.role() == TensorRole::kInput;
      const size_t edge = reads ? read[next_read++] : filled[next_filled++];
      node.edges.push_back(edge);
      if (reads) {
        AddReader(edge, slot, place);
      } else {
        graph_->edges[edge].desc = *slot.desc;
      }
    }
    graph_->nodes.push_back(std::move(node));
  }

  void AddReader(size_t number, const TensorSlot& slot, const std::string& place) {
    GraphEdge& edge = graph_->edges[number];
    const uint64_t needed = SizeInBytes(*slot.desc);
    if (is_computed_.contains(number)) {
      const uint64_t size = SizeInBytes(*edge.desc);
      if (needed > size) {
        Fail("SGR-4", "{}: {} needs {} of '{}', which has {}", place, DisplayName(slot.path),
             Counted(needed, "byte"), edge.name, size);
      }
    } else if (!edge.desc || needed > SizeInBytes(*edge.desc)) {
      edge.desc = *slot.desc;
    }
  }

  // --- constants ---------------------------------------------------------------------------------

  void ReadConstant(const file::ConstantNode& constant, const file::Node& node,
                    const std::string& place) {
    const std::vector<std::string> outputs = TextsOf(node.outputs());
    if (outputs.size() != 1) {
      return Fail("SGR-4", "{}: a constant has one output, not {}", place, outputs.size());
    }
    const auto edge = AddEdge(outputs.front(), place);
    if (edge) constants_.emplace(*edge, &constant);
  }

  // Fills a constant once it is known what nodes read of it.
  void FillConstant(GraphEdge& edge) {
    const auto found = constants_.find(static_cast<size_t>(&edge - graph_->edges.data()));
    if (found == constants_.end() || !edge.desc || !is_right_) return;
    const auto* name = found->second->value_as_ConstantName();
    if (name != nullptr && NameOf(*name).find('\0') != std::string::npos) {
      return Fail("SGR-3", "the constant '{}': '{}.bin' names no file, for it has a NUL byte",
                  edge.name, NameOf(*name));
    }
    try {
      const std::span<const std::byte> bytes = BytesOf(*found->second);
      const uint64_t size = SizeInBytes(*edge.desc);
      // The bytes that round the size up to a multiple of 4 may be missing.
      if (bytes.size() + 3 < size) return FailSize(*found->second, edge, bytes.size(), size);
      const auto copy = std::make_shared<Buffer>(size);
      std::copy_n(bytes.begin(), std::min<size_t>(size, bytes.size()), copy->data());
      edge.constant = GraphConstant{copy->bytes(), copy};
    } catch (const Error& error) {
      FailFile(error.kind(), edge, error.what());
    }
  }

  void FailSize(const file::ConstantNode& constant, const GraphEdge& edge, uint64_t size,
                uint64_t needed) {
    if (const auto* name = constant.value_as_ConstantName()) {
      return FailFile(ErrorKind::kTensorFile, edge,
                      fmt::format("{}.bin has {}; its tensor needs {}", NameOf(*name),
                                  Counted(size, "byte"), needed));
    }
    Fail("SGR-3", "the constant '{}' has {}; its tensor needs {}", edge.name, Counted(size, "byte"),
         needed);
  }

  static std::string NameOf(const file::ConstantName& constant) {
    return constant.name() == nullptr ? std::string() : constant.name()->str();
  }

  std::span<const std::byte> BytesOf(const file::ConstantNode& constant) const {
    if (const auto* name = constant.value_as_ConstantName()) return source_.constant(NameOf(*name));
    const auto* in_place = constant.value_as_ConstantBytes();
    if (in_place == nullptr || in_place->bytes() == nullptr) return {};
    return std::as_bytes(std::span(in_place->bytes()->data(), in_place->bytes()->size()));
  }

  const GraphSource& source_;
  const GraphFaults& report_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  std::map<std::string, size_t, std::less<>> edge_names_;
  std::set<size_t> is_computed_, is_output_;
  std::map<size_t, const file::ConstantNode*> constants_;
  bool is_right_ = true;
};

}  // namespace

std::shared_ptr<const Graph> ReadGraph(const GraphSource& source, const GraphFaults& report) {
  // Its numbers are read in place, and it may begin at any byte of a file.
  constexpr uintptr_t kAlignment = alignof(uint64_t);
  if (reinterpret_cast<uintptr_t>(source.file.data()) % kAlignment == 0) {
    return GraphReader(source, report).Read();
  }
  Buffer aligned(source.file.size());
  std::ranges::copy(source.file, aligned.data());
  return GraphReader({aligned.bytes(), source.constant, source.level}, report).Read();
}

}  // namespace dmlop
