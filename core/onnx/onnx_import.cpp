// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/onnx_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/io/file.h"
#include "core/onnx/onnx_builder.h"
#include "core/onnx/onnx_functions.h"

namespace dmlop {
namespace {

// The values that names stand for. A value is null if what computes it was refused.
using Names = std::map<std::string_view, OnnxValue*>;

// Facts that the nodes of a graph or of a function have in common.
struct Surroundings {
  int64_t opset = kOldestOpset;
  std::vector<Names> scopes;  // of the graph or function, then of branches within branches
  std::map<std::string_view, size_t> numbers = {};               // of nodes of each operator
  std::map<std::string_view, const OnnxValueInfo*> stated = {};  // of tensors, by the file
  const FunctionCall* call = nullptr;                            // null in the graph
};

// A node of the model needs something that the feature level lacks.
struct LevelFault {
  size_t node;
  std::string place;
  OnnxLevelFault of;
};

class Importer {
 public:
  Importer(const OnnxSource& source, Diagnostics& diagnostics)
      : source_(source),
        diagnostics_(diagnostics),
        sizes_(source),
        builder_(source),
        functions_(source.model) {}

  OnnxImport Import() {
    const bool states_others = !source_.model.opsets.empty();
    in_.opset = CheckedOpset(source_.model.opsets, states_others ? kNewestOpset : kOldestOpset,
                             "the model");
    in_.scopes.emplace_back();
    for (const std::string_view name : functions_.twice()) {
      Fail("ONX-7", "function '{}': it is there twice", name);
    }
    ReadConstants(source_.model.graph);
    ReadInputs();
    ReadNodes(source_.model.graph);
    ReadOutputs();
    JudgeLevels();
    if (!diagnostics_.has_errors()) SetOutputs();
    if (diagnostics_.has_errors()) return {nullptr, Finish({})};
    return {Finish(std::move(ports_of_outputs_))};
  }

 private:
  template <typename... Args>
  void Fail(std::string_view code, fmt::format_string<Args...> text, Args&&... args) {
    diagnostics_.Error(code, "", fmt::format(text, std::forward<Args>(args)...));
    ++faults_;
  }

  // Calls body(), and reports what it throws as a fault of `place`. Returns false then.
  template <typename Body>
  bool Guarded(const std::string& place, Body&& body, std::string_view code_of_files = "ONX-8") {
    try {
      body();
      return true;
    } catch (const OnnxRefusal& refusal) {
      for (const auto& [code, message] : refusal.faults) Fail(code, "{}: {}", place, message);
    } catch (const Error& error) {
      FailFile(code_of_files, place, error);
    } catch (const OnnxUnknownInput&) {  // has been reported where it was refused
    }
    return false;
  }

  // A location that leads outside is a fault of the model.
  void FailFile(std::string_view code, const std::string& place, const Error& error) {
    std::string message = fmt::format("{}: {}", place, error.what());
    if (error.kind() == ErrorKind::kUsage) return Fail(code, "{}", message);
    diagnostics_.Append(
        {Severity::kError, std::string(code), "", std::move(message), std::nullopt, error.kind()});
    ++faults_;
  }

  // The version of ONNX's own operators.
  int64_t CheckedOpset(const OnnxOpsets& opsets, int64_t otherwise, std::string_view what) {
    const auto found = opsets.find("");
    const int64_t opset = found == opsets.end() ? otherwise : found->second;
    if (opset > kNewestOpset || opset < 1) {
      Fail("ONX-2", "{} is of opset {}; dmlop knows 1 to {}", what, opset, kNewestOpset);
    }
    return std::min(opset, kNewestOpset);
  }

  // --- names -------------------------------------------------------------------------------------

  void Define(std::string_view name, OnnxValue* value, const std::string& place) {
    if (!in_.scopes.back().emplace(name, value).second) {
      Fail("ONX-7", "{}: '{}' is computed or given twice", place, name);
    }
  }

  // Returns null if there is no such name.
  OnnxValue* const* Find(std::string_view name) const {
    for (size_t i = in_.scopes.size(); i-- > 0;) {
      const auto found = in_.scopes[i].find(name);
      if (found != in_.scopes[i].end()) return &found->second;
    }
    return nullptr;
  }

  // --- constants and inputs ----------------------------------------------------------------------

  void ReadConstants(const OnnxGraph& graph) {
    for (const TensorProto& tensor : graph.initializers) {
      if (source_.bound.contains(std::string(tensor.name)) && in_.scopes.size() == 1) continue;
      const std::string place = fmt::format("initializer '{}'", tensor.name);
      OnnxValue* value = nullptr;
      const bool is_right = Guarded(place, [&] {
        OnnxValue& constant =
            builder_.Add(std::string(tensor.name), RequireType(tensor.type),
                         RequireSizes({tensor.shape.begin(), tensor.shape.end()}));
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

  void ReadInputs() {
    sizes_.Learn([&](const std::string& message) { Fail("ONX-4", "{}", message); });
    for (const OnnxValueInfo& input : source_.model.graph.inputs) {
      const std::string place = fmt::format("input '{}'", input.name);
      const auto initializer = in_.scopes.back().find(input.name);
      if (initializer != in_.scopes.back().end() && !ports_of_.contains(input.name)) {
        AddDefault(input, initializer->second);
        continue;
      }
      OnnxValue* value = nullptr;
      const bool is_right = Guarded(
                                place, [&] { CheckType(input); }, "ONX-6") &&
                            Guarded(
                                place, [&] { value = &AddInput(input); }, "ONX-4");
      Define(input.name, is_right ? value : nullptr, place);
    }
    const std::string warning = sizes_.WarningOfUnknown();
    if (!warning.empty()) diagnostics_.Warning("ONX-4", "", warning);
  }

  // An initializer stands for the input.
  void AddDefault(const OnnxValueInfo& input, const OnnxValue* value) {
    ports_of_.emplace(input.name);
    if (value == nullptr) return;
    inputs_.push_back(PortOf(input.name, *value, std::nullopt));
    inputs_.back().has_default = true;
  }

  void CheckType(const OnnxValueInfo& input) {
    ports_of_.emplace(input.name);
    if (!input.is_tensor) {
      throw Refusal(
          "ONX-6",
          "the file does not say that it is a tensor; sequences, optionals and maps are none");
    }
    const OnnxType type = RequireType(OnnxTypeOf(input.element_type));
    const LoadedTensor* bound = sizes_.BoundTo(input.name);
    if (bound != nullptr) OnnxInputSizes::RequireType(*bound, type);
  }

  OnnxValue& AddInput(const OnnxValueInfo& input) {
    const OnnxType type = OnnxTypeOf(input.element_type);
    const LoadedTensor* bound = sizes_.BoundTo(input.name);
    OnnxValue& value = builder_.Add(std::string(input.name), type, RequireSizes(sizes_.Of(input)));
    if (!value.empty()) builder_.AddInput(value, bound == nullptr ? nullptr : &bound->view);
    inputs_.push_back(
        PortOf(input.name, value, value.empty() ? std::nullopt : std::optional(value.edge)));
    inputs_.back().has_default = HasInitializer(source_.model.graph, input.name);
    return value;
  }

  // --- nodes -------------------------------------------------------------------------------------

  void ReadNodes(const OnnxGraph& graph) {
    for (const auto* values : {&graph.values, &graph.outputs}) {
      for (const OnnxValueInfo& value : *values) in_.stated.emplace(value.name, &value);
    }
    ReadNodes(graph.nodes);
  }

  void ReadNodes(const std::vector<OnnxNode>& nodes) {
    std::set<std::string_view> later;
    for (const OnnxNode& node : nodes) later.insert(node.outputs.begin(), node.outputs.end());
    for (const OnnxNode& node : nodes) {
      in_.call == nullptr ? ReadNode(node, node.outputs, later)
                          : ReadNode(functions_.InCall(*in_.call, node), node.outputs, later);
    }
  }

  std::string LabelOf(const OnnxNode& node) {
    const size_t number = in_.numbers[node.op_type]++;
    const std::string name =
        node.name.empty() ? fmt::format("{}_{}", node.op_type, number) : std::string(node.name);
    return in_.call == nullptr ? name : fmt::format("{}/{}", in_.call->label, name);
  }

  // `names` are those that the nodes behind it know its outputs by.
  void ReadNode(const OnnxNode& node, const std::vector<std::string_view>& names,
                const std::set<std::string_view>& later) {
    const std::string label = LabelOf(node);
    const OnnxRow* row = FindOnnxRow(node.domain, node.op_type);
    const int version = row == nullptr ? 0 : VersionIn(OpsetOf(node.domain), row->versions);
    if (version == 0) row = nullptr;
    const OnnxFunction* function = row == nullptr ? functions_.Find(node) : nullptr;
    const bool is_if = node.domain.empty() && node.op_type == "If";
    const std::string place = row == nullptr
                                  ? fmt::format("node '{}' ({})", label, NameWithoutRow(node))
                                  : fmt::format("node '{}' ({} {})", label, node.op_type, version);
    const size_t told = faults_;
    std::vector<OnnxValue*> values;
    const bool can_be_read = FindInputs(node, later, place, values);
    std::vector<OnnxValue*> outputs(node.outputs.size());
    const size_t begin = builder_.node_count();
    const auto at = nodes_.size();
    bool is_read = can_be_read;
    if (is_if) {
      const OnnxValue* condition = values.empty() ? nullptr : values.front();
      is_read =
          can_be_read && Guarded(place, [&] { ReadIf(node, condition, label, place, outputs); });
    } else if (function != nullptr) {
      const FunctionCall call{*function, node, label, in_.call};
      is_read = can_be_read && Guarded(place, [&] { ReadCall(call, values, place, outputs); });
    } else if (row == nullptr) {
      Fail("ONX-2", "{}: {}", place, WhyWithoutRow(node.domain, node.op_type));
      is_read = false;
    } else {
      is_read = ReadByRow(node, *row, version, label, place, std::move(values), outputs);
    }
    SetStandIns(node, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!names[i].empty()) Define(names[i], outputs[i], place);
    }
    if (nodes_.size() == at || (function != nullptr && !is_read)) {
      nodes_.push_back({label, std::string(node.op_type), "", begin, begin, {}});
    }
    // Faults of an If or a call are those of the nodes inside.
    if (is_read && (row == nullptr || told == faults_)) return;
    (told == faults_ ? nodes_.back().is_unjudged : nodes_.back().is_refused) = true;
  }

  int64_t OpsetOf(std::string_view domain) const { return domain.empty() ? in_.opset : 1; }

  std::string NameWithoutRow(const OnnxNode& node) const {
    if (!node.domain.empty()) return fmt::format("{}.{}", node.domain, node.op_type);
    const std::string_view versions = VersionsWithoutRow(node.op_type);
    const int version = VersionIn(in_.opset, versions);
    if (version == 0) return std::string(node.op_type);
    return fmt::format("{} {}", node.op_type, version);
  }

  // False if an input is not known, which is reported unless what computes it was. Such inputs are
  // values that were refused.
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
      const bool is_known = found != nullptr && *found != nullptr;
      are_known = are_known && is_known;
      values.push_back(is_known ? *found : &refused_);
    }
    return are_known;
  }

  bool ReadByRow(const OnnxNode& node, const OnnxRow& row, int version, const std::string& label,
                 const std::string& place, std::vector<OnnxValue*> values,
                 std::vector<OnnxValue*>& outputs) {
    const size_t begin = builder_.node_count();
    OnnxCall call(builder_, node, row, version, label, std::move(values));
    const bool is_right = Guarded(place, [&] { call.Import(); });
    for (const OnnxLevelFault& fault : call.level_faults()) {
      level_faults_.push_back({nodes_.size(), place, fault});
    }
    const size_t end = builder_.node_count();
    for (size_t n = begin; end - begin > 1 && n < end; ++n) {
      builder_.Rename(n, fmt::format("{}/{}", label, n - begin + 1));
    }
    if (is_right) outputs = call.outputs();
    nodes_.push_back(
        {label, std::string(node.op_type), fmt::format("{}", version), begin, end, call.notes()});
    return is_right;
  }

  // Refuses what the feature level lacks, but for nodes that no device computes, as their outputs
  // are known.
  void JudgeLevels() {
    for (const auto& [node, place, of] : level_faults_) {
      if (builder_.IsKnown(builder_.node(of.node))) continue;
      Fail(of.fault.code, "{}: {}", place, of.fault.message);
      nodes_[node].is_refused = true;
      nodes_[node].is_unjudged = false;
    }
  }

  // Gives those outputs of a node that were refused the types and sizes that the file states, so
  // that the nodes behind it are judged, too.
  void SetStandIns(const OnnxNode& node, std::vector<OnnxValue*>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto stated = in_.stated.find(node.outputs[i]);
      if (outputs[i] != nullptr || stated == in_.stated.end()) continue;
      const OnnxValueInfo& info = *stated->second;
      const OnnxType type = OnnxTypeOf(info.element_type);
      const auto sizes = sizes_.OfStated(info);
      if (!sizes || !info.is_tensor || type.type == DataType::kUnknown) continue;
      OnnxValue& value = builder_.Add(std::string(info.name), type, *sizes);
      if (!value.empty()) builder_.AddInput(value, nullptr);
      outputs[i] = &value;
    }
  }

  void ReadIf(const OnnxNode& node, const OnnxValue* condition, const std::string& label,
              const std::string& place, std::vector<OnnxValue*>& outputs) {
    if (condition == nullptr) throw Refusal("ONX-3", "input 1 is left out");
    const auto known = builder_.Known(*condition);
    if (!known || known->count < 1) {
      throw Refusal("ONX-9", "its condition '{}' is not known while the model is read",
                    condition->name);
    }
    const OnnxAttribute* branch = node.Find(known->Integer(0) != 0 ? "then_branch" : "else_branch");
    if (branch == nullptr || !branch->graph || branch->graph->outputs.size() != outputs.size()) {
      throw Refusal("ONX-3", "it lacks the branch, or the branch has other outputs");
    }
    nodes_.push_back({label, "If", "", builder_.node_count(), builder_.node_count(), {}});
    in_.scopes.emplace_back();
    ReadConstants(*branch->graph);
    ReadNodes(*branch->graph);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = FindWithin(branch->graph->outputs[i].name, "branch", place);
    }
    in_.scopes.pop_back();
  }

  // Null if there is no such name in what a node stands for, which is reported.
  OnnxValue* FindWithin(std::string_view name, std::string_view what, const std::string& place) {
    OnnxValue* const* found = Find(name);
    if (found != nullptr) return *found;
    Fail("ONX-7", "{}: nothing computes '{}' in its {}", place, name, what);
    return nullptr;
  }

  // --- functions of the model --------------------------------------------------------------------

  // Reads the nodes of a function, which know its inputs only.
  void ReadCall(const FunctionCall& call, const std::vector<OnnxValue*>& values,
                const std::string& place, std::vector<OnnxValue*>& outputs) {
    if (!functions_.Take(call)) throw OnnxUnknownInput{};
    const OnnxFunction& function = call.function;
    const int64_t opset = CheckedOpset(function.opsets, in_.opset, place);
    Surroundings outer = std::exchange(in_, {.opset = opset, .scopes = {{}}, .call = &call});
    try {
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] != nullptr) Define(function.inputs[i], values[i], place);
      }
      ReadNodes(function.nodes);
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (call.node.outputs[i].empty()) continue;
        outputs[i] = FindWithin(function.outputs[i], "function", place);
      }
    } catch (const TooManyCalls&) {
      in_ = std::move(outer);
      if (in_.call != nullptr) throw;
      throw OnnxFunctions::RefusalOfMany();
    }
    in_ = std::move(outer);
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

  // Outputs that no node of the model fills are copies, which the device makes, too.
  void SetOutputs() {
    std::vector<std::string> names;
    for (const OnnxValueInfo& output : source_.model.graph.outputs) names.emplace_back(output.name);
    const size_t copies = builder_.node_count();
    const auto edges = builder_.SetOutputs(outputs_, names);
    for (size_t n = copies; n < builder_.node_count(); ++n) {
      const GraphNode& copy = builder_.node(n);
      for (const auto& [code, message] : FaultsAt(builder_.level(), copy.op)) {
        Fail(code, "output '{}': {}", copy.name, message);
      }
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      ports_of_outputs_.push_back(PortOf(names[i], *outputs_[i], edges[i]));
    }
  }

  std::shared_ptr<const NamedGraph> Finish(std::vector<GraphPort> outputs) {
    auto named = std::make_shared<NamedGraph>();
    const std::vector<size_t> left = builder_.RemoveKnownNodes();
    for (ModelNode& node : nodes_) {
      node.begin = left[node.begin];
      node.end = left[node.end];
    }
    named->inputs = std::move(inputs_);
    named->outputs = std::move(outputs);
    named->nodes = std::move(nodes_);
    named->graph = builder_.Take();
    named->tensors.resize(named->graph.edges.size());
    for (const OnnxValue& value : builder_.values()) {
      if (value.edge == OnnxValue::kNoEdge) continue;
      named->tensors[value.edge] = PortOf(value.name, value, value.edge);
    }
    for (const GraphPort& port : named->outputs) {
      if (port.edge) named->tensors[*port.edge].name = port.name;
    }
    return named;
  }

  const OnnxSource& source_;
  Diagnostics& diagnostics_;
  OnnxInputSizes sizes_;
  OnnxBuilder builder_;
  Surroundings in_;
  OnnxFunctions functions_;
  std::set<std::string_view> ports_of_;  // inputs that have been read
  std::vector<GraphPort> inputs_;
  std::vector<OnnxValue*> outputs_;
  std::vector<GraphPort> ports_of_outputs_;
  std::vector<ModelNode> nodes_;
  std::vector<LevelFault> level_faults_;
  size_t faults_ = 0;  // that have been told
  OnnxValue refused_{.name = "", .type = {}, .sizes = {}, .is_refused = true};
};

}  // namespace

OnnxImport ImportOnnx(const OnnxSource& source, Diagnostics& diagnostics) {
  return Importer(source, diagnostics).Import();
}

}  // namespace dmlop
