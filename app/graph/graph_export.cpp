// SPDX-License-Identifier: Apache-2.0
#include "app/graph/graph_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/run/model_tensors.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/document/document_json.h"
#include "core/engine/copy/copy_views.h"
#include "core/graph/graph_run.h"
#include "core/io/output_file.h"
#include "core/model/model_text.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

constexpr uint64_t kMostInside = 64 << 10;  // bytes of constants

// Names that are used once: "x", "x#2".
class UniqueNames {
 public:
  std::string Take(const std::string& name) {
    std::string unique = name;
    for (int i = 2; !taken_.insert(unique).second; ++i) unique = fmt::format("{}#{}", name, i);
    return unique;
  }

 private:
  std::set<std::string> taken_;
};

FileRoles RolesOfInputs(const GraphModel& model) {
  FileRoles roles;
  model.AddTo(roles);
  return roles;
}

// Writes a tensor of a buffer as a file.
void WriteTensorFile(const std::string& path, const TensorDesc& desc, const ConstTensorView& view,
                     OutputSet& files) {
  OutputTensor file = OutputTensor::ToFile(path, desc, Staging::kOnDisk);
  std::optional<UnpackedNibbles> unpacked;
  if (HasNibbles(view.type)) unpacked.emplace(view);
  CopyView(unpacked ? AsConst(unpacked->view()) : view, file.view());
  file.Flush(files);
}

class DispatchModelWriter {
 public:
  DispatchModelWriter(GraphModel& model, const NamedGraph& graph, const std::string& folder)
      : graph_(graph.graph),
        folder_(folder),
        bytes_(graph.graph.edges.size()),
        roles_(RolesOfInputs(model)) {
    const std::vector<ConstTensorView> inputs = model.InputViews();
    size_t next = 0;
    for (const size_t edge : graph_.inputs) {
      if (!graph_.edges[edge].desc) continue;
      const std::byte* data = inputs[next++].data;
      if (data != nullptr) bytes_[edge] = {data, SizeInBytes(*graph_.edges[edge].desc)};
    }
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      if (graph_.edges[e].constant) bytes_[e] = graph_.edges[e].constant->bytes;
    }
  }

  void Print() {
    RequireRoom();
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      names_.push_back(graph_.edges[e].desc ? AddResource(e) : "");
    }
    UniqueNames names;
    for (const GraphNode& node : graph_.nodes) AddNode(node, names.Take(node.name));
    for (const size_t edge : graph_.outputs) {
      commands_.push_back({{"type", "print"}, {"resource", names_[edge]}});
    }
    roles_.RequireSeparate();
    files_.Publish();
    PrintResult(Pretty({{"resources", resources_},
                        {"dispatchables", dispatchables_},
                        {"commands", commands_}}) +
                "\n");
  }

 private:
  // Returns whether all elements have the same bytes.
  bool IsUniform(size_t edge) const {
    const size_t width = ByteWidth(*graph_.edges[edge].desc->data_type);
    const std::span<const std::byte> bytes = bytes_[edge];
    return !HasNibbles(*graph_.edges[edge].desc->data_type) && bytes.size() > width &&
           std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
  }

  void RequireRoom() {
    uint64_t inside = 0;
    for (size_t e = 0; e < graph_.edges.size(); ++e) {
      if (graph_.edges[e].desc && !bytes_[e].empty() && !IsUniform(e)) inside += bytes_[e].size();
    }
    is_small_ = inside <= kMostInside;
    if (is_small_ || !folder_.empty()) return;
    throw Error(ErrorKind::kUsage,
                "the constants have {} bytes, and {} are the most inside of a model; --output-path "
                "DIR makes files of them",
                inside, kMostInside);
  }

  std::string AddResource(size_t edge) {
    const TensorDesc& desc = *graph_.edges[edge].desc;
    const std::string name = unique_.Take(graph_.edges[edge].name);
    Json resource = bytes_[edge].empty() ? ResourceOfZeros(desc)
                    : IsUniform(edge)    ? Uniform(edge)
                    : is_small_          ? ResourceOfValues(bytes_[edge], desc)
                                         : InFile(edge, name);
    resources_[name] = std::move(resource);
    return name;
  }

  Json Uniform(size_t edge) const {
    const TensorDesc& desc = *graph_.edges[edge].desc;
    Json one = ResourceOfValues(bytes_[edge].first(ByteWidth(*desc.data_type)), desc);
    Json resource = ResourceOfZeros(desc);
    resource["initialValuesDataType"] = one["initialValuesDataType"];
    resource["initialValues"]["value"] = one["initialValues"][0];
    return resource;
  }

  Json InFile(size_t edge, const std::string& name) {
    TensorDesc desc = *graph_.edges[edge].desc;
    const std::string path = (std::filesystem::path(folder_) /
                              (NumberedName(edge + 1, graph_.edges.size(), name) + ".npy"))
                                 .string();
    roles_.Writes(path, "the constant '" + name + "'");
    folders_.MakeFor(path);
    Json resource = {{"initialValues", {{"sourcePath", path}}}, {"sizeInBytes", SizeInBytes(desc)}};
    // The file has the whole buffer as one list of elements, packed ones as bytes.
    if (HasNibbles(*desc.data_type)) desc.data_type = DataType::kUint8;
    desc.strides.reset();
    desc.total_tensor_size_in_bytes = 0;
    desc.sizes = {static_cast<uint32_t>(bytes_[edge].size() / ByteWidth(*desc.data_type))};
    std::vector<std::byte> aligned(bytes_[edge].begin(), bytes_[edge].end());
    WriteTensorFile(path, desc, {aligned.data(), *desc.data_type, LayoutOf(desc)}, files_);
    return resource;
  }

  void AddNode(const GraphNode& node, const std::string& name) {
    Json bindings = Json::object();
    const std::vector<TensorSlot> slots = TensorSlots(node.op);
    for (size_t i = 0; i < slots.size(); ++i)
      SetSlot(slots[i].path, names_[node.edges[i]], bindings);
    dispatchables_[name] = OperatorJson(node.op);
    commands_.push_back({{"type", "dispatch"}, {"dispatchable", name}, {"bindings", bindings}});
  }

  const Graph& graph_;
  const std::string& folder_;
  std::vector<std::span<const std::byte>> bytes_;  // of constants and bound inputs, by edge
  FileRoles roles_;
  bool is_small_ = false;
  UniqueNames unique_;
  NewFolders folders_;
  OutputSet files_;
  std::vector<std::string> names_;  // of resources, by edge
  Json resources_ = Json::object();
  Json dispatchables_ = Json::object();
  Json commands_ = Json::array();
};

class CasesWriter {
 public:
  CasesWriter(const GraphModel& model, const NamedGraph& graph, const std::string& folder)
      : count_(graph.graph.nodes.size()), folder_(folder), roles_(RolesOfInputs(model)) {}

  void Take(const Step& step) {
    const std::string stem = NumberedName(++number_, count_, std::string(step.name));
    Json json = OperatorJson(step.op);
    json["name"] = stem;
    Json bindings = Json::object();
    size_t next_input = 0, next_output = 0;
    for (const TensorSlot& slot : TensorSlots(step.op)) {
      const bool reads = slot.role() == TensorRole::kInput;
      const ConstTensorView view =
          reads ? step.inputs[next_input++] : AsConst(step.outputs[next_output++]);
      std::string name = slot.path;
      std::ranges::replace(name, '/', '-');
      const std::string file = fmt::format("{}.{}.npy", stem, name);
      folders_.MakeFor(PathOf(file));
      roles_.Writes(PathOf(file), fmt::format("{} of {}", slot.path, stem));
      WriteTensorFile(PathOf(file), *slot.desc, view, files_);
      SetSlot(slot.path, file, bindings);
    }
    json["bindings"] = bindings;
    manifest_ += OneLine(json) + "\n";
    AddText(stem + ".json", Pretty(json) + "\n");
  }

  void Publish() {
    AddText("cases.jsonl", manifest_);
    roles_.RequireSeparate();
    files_.Publish();
  }

 private:
  void AddText(const std::string& name, const std::string& text) {
    folders_.MakeFor(PathOf(name));
    roles_.Writes(PathOf(name), "a case");
    ResultFile(PathOf(name), text).AddTo(files_);
  }

  std::string PathOf(const std::string& name) const {
    return (std::filesystem::path(folder_) / name).string();
  }

  size_t count_;
  size_t number_ = 0;
  const std::string& folder_;
  FileRoles roles_;
  NewFolders folders_;
  OutputSet files_;
  std::string manifest_;
};

}  // namespace

ExitStatus ExportGraph(GraphModel& model, const NamedGraph& graph, const ValidateOptions& options,
                       const CommonOptions& common) {
  if (options.to_model) {
    DispatchModelWriter(model, graph, options.output_folder).Print();
    return ExitStatus::kSuccess;
  }
  const GraphOutputs outputs(graph.graph);
  if (options.print_complete) {
    Diagnostics warnings;
    WriteDescriptors(
        graph.graph, model.InputViews(), outputs.views(), [](std::string_view) { return true; },
        [](const WrittenDescriptor& written) { PrintResult(written.text); }, warnings);
    if (!common.quiet) PrintDiagnostics(warnings, model.path(), "", UseColor(common.color));
    return ExitStatus::kSuccess;
  }
  model.RequireBoundInputs();
  CasesWriter writer(model, graph, options.cases_folder);
  StepWatch watch;
  watch.after = [&](const Step& step) { writer.Take(step); };
  RunGraph(graph.graph, model.InputViews(), outputs.views(), watch);
  writer.Publish();
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
