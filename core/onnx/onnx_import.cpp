// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/counted.h"
#include "core/base/spelling.h"
#include "core/io/file.h"
#include "core/onnx/onnx_builder.h"
#include "core/onnx/onnx_node.h"

namespace dmlop {
namespace {

constexpr int64_t kOldestOpset = 7;  // older ones are read as this one

// The values that names stand for. A value is null if what computes it was refused.
using Names = std::map<std::string_view, OnnxValue*>;

// The files with external data, each opened once.
class ExternalFiles {
 public:
  explicit ExternalFiles(const OnnxSource& source) : source_(source) {}

  const InputFile& Open(const std::string& location) {
    const auto found = files_.find(location);
    if (found != files_.end()) return found->second;
    return files_.emplace(location, source_.external(location)).first->second;
  }

 private:
  const OnnxSource& source_;
  std::map<std::string, InputFile> files_;
};

class Importer {
 public:
  Importer(const OnnxSource& source, Diagnostics& diagnostics)
      : source_(source),
        diagnostics_(diagnostics),
        files_(source),
        builder_(source.level, source.owner,
                 [this](const std::string& location) { return files_.Open(location); }) {}

  std::shared_ptr<const NamedGraph> Import() {
    CheckOpsets();
    scopes_.emplace_back();
    ReadConstants(source_.model.graph);
    ReadInputs();
    ReadNodes(source_.model.graph);
    ReadOutputs();
    if (diagnostics_.has_errors()) return nullptr;
    return Finish();
  }

 private:
  template <typename... Args>
  void Fail(std::string_view code, fmt::format_string<Args...> text, Args&&... args) {
    diagnostics_.Error(code, "", fmt::format(text, std::forward<Args>(args)...));
  }

  // Calls body(), and reports what it throws as a fault of `place`. Returns false then.
  template <typename Body>
  bool Guarded(const std::string& place, Body&& body) {
    try {
      body();
      return true;
    } catch (const OnnxRefusal& refusal) {
      for (const auto& [code, message] : refusal.faults) Fail(code, "{}: {}", place, message);
    } catch (const Error& error) {
      FailFile(place, error);
    }
    return false;
  }

  // A location that leads outside is a fault of the model.
  void FailFile(const std::string& place, const Error& error) {
    std::string message = fmt::format("{}: {}", place, error.what());
    if (error.kind() == ErrorKind::kUsage) return Fail("ONX-8", "{}", message);
    diagnostics_.FileError(error.kind(), "ONX-8", "", std::move(message), 0);
  }

  void CheckOpsets() {
    const auto found = source_.model.opsets.find("");
    opset_ = found == source_.model.opsets.end() ? kOldestOpset : found->second;
    if (opset_ > kNewestOpset || opset_ < 1) {
      Fail("ONX-2", "the model is of opset {}; dmlop knows 1 to {}", opset_, kNewestOpset);
    }
    opset_ = std::clamp(opset_, kOldestOpset, kNewestOpset);
  }

  // --- names -------------------------------------------------------------------------------------

  void Define(std::string_view name, OnnxValue* value, const std::string& place) {
    if (!scopes_.back().emplace(name, value).second) {
      Fail("ONX-7", "{}: '{}' is computed or given twice", place, name);
    }
  }

  // Returns null if there is no such name.
  OnnxValue* const* Find(std::string_view name) const {
    for (size_t i = scopes_.size(); i-- > 0;) {
      const auto found = scopes_[i].find(name);
      if (found != scopes_[i].end()) return &found->second;
    }
    return nullptr;
  }

  static const OnnxSizes& CheckedSizes(const OnnxSizes& sizes) {
    RequireSizes(sizes);
    return sizes;
  }

  // --- constants and inputs ----------------------------------------------------------------------

  void ReadConstants(const OnnxGraph& graph) {
    for (const TensorProto& tensor : graph.initializers) {
      if (source_.bound.contains(std::string(tensor.name)) && scopes_.size() == 1) continue;
      const std::string place = fmt::format("initializer '{}'", tensor.name);
      OnnxValue* value = nullptr;
      const bool is_right = Guarded(place, [&] {
        OnnxValue& constant =
            builder_.Add(std::string(tensor.name), TypeOf(tensor.type),
                         CheckedSizes({tensor.shape.begin(), tensor.shape.end()}));
        builder_.SetTensor(constant, tensor);
        value = &constant;
      });
      Define(tensor.name, is_right ? value : nullptr, place);
    }
    for (const std::string_view name : graph.sparse_initializers) {
      Fail("ONX-6", "initializer '{}': it is sparse", name);
      Define(name, nullptr, fmt::format("initializer '{}'", name));
    }
  }

  static OnnxType TypeOf(const OnnxType& type) {
    if (type.type != DataType::kUnknown) return type;
    throw OnnxRefusal{{{"ONX-6", fmt::format("DirectML has no type {}", NameOf(type))}}};
  }

  void ReadInputs() {
    for (const OnnxValueInfo& input : source_.model.graph.inputs) LearnFreeSizes(input);
    for (const OnnxValueInfo& input : source_.model.graph.inputs) {
      const std::string place = fmt::format("input '{}'", input.name);
      const auto initializer = scopes_.back().find(input.name);
      if (initializer != scopes_.back().end() && !ports_of_.contains(input.name)) {
        AddDefault(input, initializer->second);
        continue;
      }
      OnnxValue* value = nullptr;
      const bool is_right = Guarded(place, [&] { value = &AddInput(input); });
      Define(input.name, is_right ? value : nullptr, place);
    }
    WarnOfFreeSizes();
  }

  // An initializer stands for the input.
  void AddDefault(const OnnxValueInfo& input, const OnnxValue* value) {
    ports_of_.emplace(input.name);
    if (value == nullptr) return;
    inputs_.push_back(PortOf(input.name, *value, std::nullopt));
    inputs_.back().has_default = true;
  }

  OnnxValue& AddInput(const OnnxValueInfo& input) {
    ports_of_.emplace(input.name);
    if (!input.is_tensor) {
      throw OnnxRefusal{{{"ONX-6", "it is no tensor, but a sequence, an optional or a map"}}};
    }
    const OnnxType type = TypeOf(OnnxTypeOf(input.element_type));
    const LoadedTensor* bound = BoundTo(input.name);
    if (bound != nullptr) RequireType(*bound, type);
    OnnxValue& value =
        builder_.Add(std::string(input.name), type, CheckedSizes(SizesOf(input, bound)));
    if (!value.empty()) builder_.AddInput(value, bound == nullptr ? nullptr : &bound->view);
    inputs_.push_back(
        PortOf(input.name, value, value.empty() ? std::nullopt : std::optional(value.edge)));
    inputs_.back().has_default = HasInitializer(input.name);
    return value;
  }

  bool HasInitializer(std::string_view name) const {
    return std::ranges::find(source_.model.graph.initializers, name, &TensorProto::name) !=
           source_.model.graph.initializers.end();
  }

  const LoadedTensor* BoundTo(std::string_view name) const {
    const auto found = source_.bound.find(std::string(name));
    return found == source_.bound.end() ? nullptr : found->second;
  }

  static void RequireType(const LoadedTensor& bound, OnnxType type) {
    const bool may_be = !bound.is_bool || type.is_bool();
    if (bound.view.type == type.type && may_be) return;
    throw Error(ErrorKind::kTensorFile,
                fmt::format("its file has elements of type {}; the model wants {}", TypeName(bound),
                            type.is_bool() ? "BOOL" : Name(type.type)));
  }

  // The sizes that are stated beside the file's: those of the bound tensor, or of -b.
  std::optional<OnnxSizes> StatedSizes(std::string_view name, const LoadedTensor* bound) const {
    if (bound != nullptr) {
      return OnnxSizes(bound->view.layout.sizes.begin(), bound->view.layout.sizes.end());
    }
    const auto found = source_.shapes.find(std::string(name));
    return found == source_.shapes.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<int64_t> FreeSize(const OnnxDimension& dimension) const {
    const auto by_name = source_.free_sizes.find(std::string(dimension.name));
    if (!dimension.name.empty() && by_name != source_.free_sizes.end()) return by_name->second;
    const auto by_denotation = source_.free_denotations.find(std::string(dimension.denotation));
    if (!dimension.denotation.empty() && by_denotation != source_.free_denotations.end()) {
      return by_denotation->second;
    }
    const auto learned = learned_.find(dimension.name);
    if (learned != learned_.end()) return learned->second.size;
    return std::nullopt;
  }

  // Takes the sizes of free dimensions from the tensors that are bound.
  void LearnFreeSizes(const OnnxValueInfo& input) {
    const auto stated = StatedSizes(input.name, BoundTo(input.name));
    if (!stated || !input.sizes || stated->size() != input.sizes->size()) return;
    for (size_t d = 0; d < stated->size(); ++d) {
      const std::string_view name = (*input.sizes)[d].name;
      if ((*input.sizes)[d].size || name.empty()) continue;
      const auto [at, is_new] = learned_.try_emplace(name, Learned{(*stated)[d], input.name});
      if (!is_new && at->second.size != (*stated)[d]) {
        Fail("ONX-4", "'{}' is {} in '{}' and {} in '{}'", name, at->second.size, at->second.input,
             (*stated)[d], input.name);
      }
    }
  }

  OnnxSizes SizesOf(const OnnxValueInfo& input, const LoadedTensor* bound) {
    const auto stated = StatedSizes(input.name, bound);
    if (stated) {
      RequireShape(input, *stated, bound != nullptr);
      return *stated;
    }
    if (!input.sizes) {
      throw OnnxRefusal{{{"ONX-4", fmt::format("nothing says its shape; bind a file to '{0}' or "
                                               "give -b {0}:SIZES",
                                               input.name)}}};
    }
    OnnxSizes sizes;
    for (const OnnxDimension& dimension : *input.sizes) {
      const auto size = dimension.size ? dimension.size : FreeSize(dimension);
      if (!size) unknown_.insert(dimension.name.empty() ? "?" : dimension.name);
      sizes.push_back(size.value_or(1));
    }
    return sizes;
  }

  void RequireShape(const OnnxValueInfo& input, const OnnxSizes& stated, bool is_file) const {
    if (!input.sizes) return;
    bool fits = stated.size() == input.sizes->size();
    std::vector<std::string> wanted;
    for (size_t d = 0; d < input.sizes->size(); ++d) {
      const OnnxDimension& dimension = (*input.sizes)[d];
      wanted.push_back(dimension.size ? fmt::format("{}", *dimension.size)
                                      : std::string(dimension.name.empty() ? "?" : dimension.name));
      fits = fits && (!dimension.size || *dimension.size == stated[d]);
    }
    if (fits) return;
    const std::string message = fmt::format("the shape {} does not fit; the model wants [{}]",
                                            ToString(stated), fmt::join(wanted, ", "));
    if (is_file) throw Error(ErrorKind::kTensorFile, message);
    throw OnnxRefusal{{{"ONX-4", message}}};
  }

  void WarnOfFreeSizes() {
    if (unknown_.empty()) return;
    std::vector<std::string> names;
    for (const std::string_view name : unknown_) names.push_back(fmt::format("'{}'", name));
    diagnostics_.Warning(
        "ONX-4", "",
        fmt::format("free {} of inputs {} taken for 1: {}; -f NAME:SIZE or -b INPUT:SIZES says "
                    "another",
                    ForCount(names.size(), "size", "sizes"), ForCount(names.size(), "is", "are"),
                    Listed(names)));
  }

  // --- nodes -------------------------------------------------------------------------------------

  void ReadNodes(const OnnxGraph& graph) {
    std::set<std::string_view> later;
    for (const OnnxNode& node : graph.nodes) later.insert(node.outputs.begin(), node.outputs.end());
    for (const OnnxNode& node : graph.nodes) ReadNode(node, later);
  }

  std::string LabelOf(const OnnxNode& node) {
    const size_t number = numbers_[node.op_type]++;
    return node.name.empty() ? fmt::format("{}_{}", node.op_type, number) : std::string(node.name);
  }

  void ReadNode(const OnnxNode& node, const std::set<std::string_view>& later) {
    const std::string label = LabelOf(node);
    const OnnxRow* row = FindOnnxRow(node.domain, node.op_type);
    const bool is_if = node.domain.empty() && node.op_type == "If";
    const int version = row == nullptr ? 0 : VersionIn(OpsetOf(node.domain), row->versions);
    const std::string place = row == nullptr
                                  ? fmt::format("node '{}' ({})", label, NameWithoutRow(node))
                                  : fmt::format("node '{}' ({} {})", label, node.op_type, version);
    std::vector<OnnxValue*> values;
    const bool can_be_read = FindInputs(node, later, place, values);
    std::vector<OnnxValue*> outputs(node.outputs.size());
    const size_t begin = builder_.node_count();
    const auto at = nodes_.size();
    if (is_if) {
      if (can_be_read) Guarded(place, [&] { ReadIf(node, *values.front(), place, outputs); });
    } else if (row == nullptr) {
      RefuseOperator(node, place);
    } else if (can_be_read) {
      ReadByRow(node, *row, version, label, place, std::move(values), outputs);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!node.outputs[i].empty()) Define(node.outputs[i], outputs[i], place);
    }
    if (nodes_.size() == at)
      nodes_.push_back({label, std::string(node.op_type), "", begin, begin, {}});
  }

  int64_t OpsetOf(std::string_view domain) const { return domain.empty() ? opset_ : 1; }

  std::string NameWithoutRow(const OnnxNode& node) const {
    if (!node.domain.empty()) return fmt::format("{}.{}", node.domain, node.op_type);
    const std::string_view versions = VersionsWithoutRow(node.op_type);
    if (versions.empty()) return std::string(node.op_type);
    return fmt::format("{} {}", node.op_type, VersionIn(opset_, versions));
  }

  void RefuseOperator(const OnnxNode& node, const std::string& place) {
    if (!node.domain.empty() || !VersionsWithoutRow(node.op_type).empty()) {
      return Fail("ONX-2", "{}: no DirectML operator computes it; ORT runs it on the CPU", place);
    }
    std::vector<std::string_view> names;
    for (const auto& family : OnnxRows()) {
      for (const OnnxRow& row : family) {
        if (row.domain.empty()) names.push_back(row.name);
      }
    }
    Fail("ONX-2", "{}: ONNX has no operator of that name{}", place,
         DidYouMean(node.op_type, names));
  }

  // False if an input is not known, which is reported unless what computes it was.
  bool FindInputs(const OnnxNode& node, const std::set<std::string_view>& later,
                  const std::string& place, std::vector<OnnxValue*>& values) {
    bool are_known = true;
    for (const std::string_view name : node.inputs) {
      if (name.empty()) {
        values.push_back(nullptr);
        continue;
      }
      OnnxValue* const* found = Find(name);
      if (found == nullptr) {
        Fail("ONX-7", "{}: reads '{}', which {}", place, name,
             later.contains(name) ? "is computed only later" : "nothing computes and is no input");
      }
      are_known = are_known && found != nullptr && *found != nullptr;
      values.push_back(found == nullptr ? nullptr : *found);
    }
    return are_known;
  }

  void ReadByRow(const OnnxNode& node, const OnnxRow& row, int version, const std::string& label,
                 const std::string& place, std::vector<OnnxValue*> values,
                 std::vector<OnnxValue*>& outputs) {
    const size_t begin = builder_.node_count();
    OnnxCall call(builder_, node, row, version, label, std::move(values));
    const bool is_right = Guarded(place, [&] {
      row.import(call);
      RequireOutputs(node, call);
    });
    const size_t end = builder_.node_count();
    for (size_t n = begin; end - begin > 1 && n < end; ++n) {
      builder_.Rename(n, fmt::format("{}/{}", label, n - begin + 1));
    }
    if (is_right) outputs = call.outputs();
    nodes_.push_back(
        {label, std::string(node.op_type), fmt::format("{}", version), begin, end, call.notes()});
  }

  static void RequireOutputs(const OnnxNode& node, const OnnxCall& call) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty() || call.outputs()[i] != nullptr) continue;
      call.Refuse("ONX-3", "no DirectML operator computes its output {}, '{}'", i + 1,
                  node.outputs[i]);
    }
  }

  void ReadIf(const OnnxNode& node, const OnnxValue& condition, const std::string& place,
              std::vector<OnnxValue*>& outputs) {
    const auto known = builder_.Known(condition);
    if (!known || known->count < 1) {
      throw OnnxRefusal{{{"ONX-9", fmt::format("its condition '{}' is not known while the model is "
                                               "read",
                                               condition.name)}}};
    }
    const OnnxAttribute* branch = node.Find(known->Integer(0) != 0 ? "then_branch" : "else_branch");
    if (branch == nullptr || !branch->graph || branch->graph->outputs.size() != outputs.size()) {
      throw OnnxRefusal{{{"ONX-3", "it lacks the branch, or the branch has other outputs"}}};
    }
    nodes_.push_back({fmt::format("{}", node.name.empty() ? "If" : node.name), "If", "", 0, 0, {}});
    nodes_.back().begin = nodes_.back().end = builder_.node_count();
    scopes_.emplace_back();
    ReadConstants(*branch->graph);
    ReadNodes(*branch->graph);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string_view name = branch->graph->outputs[i].name;
      OnnxValue* const* found = Find(name);
      if (found == nullptr) Fail("ONX-7", "{}: nothing computes '{}' in its branch", place, name);
      outputs[i] = found == nullptr ? nullptr : *found;
    }
    scopes_.pop_back();
  }

  // --- outputs -----------------------------------------------------------------------------------

  void ReadOutputs() {
    std::set<std::string_view> names;
    for (const OnnxValueInfo& output : source_.model.graph.outputs) {
      OnnxValue* const* found = Find(output.name);
      if (found == nullptr) {
        Fail("ONX-7", "output '{}': nothing computes it", output.name);
      } else if (!names.insert(output.name).second) {
        Fail("ONX-7", "output '{}': it is there twice", output.name);
      } else {
        outputs_.push_back(*found);
      }
    }
  }

  static GraphPort PortOf(std::string_view name, const OnnxValue& value,
                          std::optional<size_t> edge) {
    return {.name = std::string(name),
            .type = value.type.type,
            .is_bool = value.type.is_bool(),
            .sizes = value.sizes,
            .edge = edge};
  }

  std::shared_ptr<const NamedGraph> Finish() {
    const auto edges = builder_.SetOutputs(outputs_);
    auto named = std::make_shared<NamedGraph>();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const std::string_view name = source_.model.graph.outputs[i].name;
      named->outputs.push_back(PortOf(name, *outputs_[i], edges[i]));
    }
    const std::vector<size_t> left = builder_.RemoveKnownNodes();
    for (ModelNode& node : nodes_) {
      node.begin = left[node.begin];
      node.end = left[node.end];
    }
    named->inputs = std::move(inputs_);
    named->nodes = std::move(nodes_);
    named->graph = builder_.Take();
    named->tensors.resize(named->graph.edges.size());
    for (const OnnxValue& value : builder_.values()) {
      if (value.edge == OnnxValue::kNoEdge) continue;
      named->tensors[value.edge] = PortOf(value.name, value, value.edge);
    }
    return named;
  }

  struct Learned {
    int64_t size;
    std::string_view input;
  };

  const OnnxSource& source_;
  Diagnostics& diagnostics_;
  ExternalFiles files_;
  OnnxBuilder builder_;
  int64_t opset_ = kOldestOpset;
  std::vector<Names> scopes_;                    // of the graph, then of branches within branches
  std::map<std::string_view, Learned> learned_;  // sizes of free dimensions
  std::set<std::string_view> unknown_;           // free dimensions taken for 1
  std::set<std::string_view> ports_of_;          // inputs that have been read
  std::map<std::string_view, size_t> numbers_;   // of nodes of each operator
  std::vector<GraphPort> inputs_;
  std::vector<OnnxValue*> outputs_;
  std::vector<ModelNode> nodes_;
};

}  // namespace

std::vector<std::string> OnnxInputNames(const OnnxModel& model) {
  std::vector<std::string> names, with_default;
  for (const OnnxValueInfo& input : model.graph.inputs) {
    const auto& initializers = model.graph.initializers;
    const bool has_default =
        std::ranges::find(initializers, input.name, &TensorProto::name) != initializers.end();
    (has_default ? with_default : names).emplace_back(input.name);
  }
  names.insert(names.end(), with_default.begin(), with_default.end());
  return names;
}

std::shared_ptr<const NamedGraph> ImportOnnx(const OnnxSource& source, Diagnostics& diagnostics) {
  return Importer(source, diagnostics).Import();
}

}  // namespace dmlop
