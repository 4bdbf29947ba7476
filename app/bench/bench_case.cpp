// SPDX-License-Identifier: Apache-2.0
#include "app/bench/bench_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/run/runnable_model.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/document/operator_case.h"
#include "core/model/model_run.h"

namespace dmlop {
namespace {

// The operator's inputs, whose values are still to be made up.
std::vector<LoadedTensor> EmptyInputs(const OperatorDesc& desc) {
  std::vector<LoadedTensor> inputs;
  for (const TensorSlot& slot : TensorSlots(desc)) {
    if (slot.role() == TensorRole::kOutput) continue;
    inputs.push_back({{nullptr, *slot.desc->data_type, LayoutOf(*slot.desc)}, nullptr, {}});
  }
  return inputs;
}

// A copy that does not depend on the view's memory.
LoadedTensor CopyOf(const ConstTensorView& view) {
  const size_t bytes = static_cast<size_t>(Extent(view.layout)) * ByteWidth(view.type);
  const auto buffer = std::make_shared<Buffer>(bytes);
  std::memcpy(buffer->data(), view.data, bytes);
  return {{buffer->data(), view.type, view.layout}, buffer, {}};
}

class CaseReader {
 public:
  CaseReader(const BenchOptions& options, const CommonOptions& common,
             std::vector<BenchCase>& cases, FileRoles& roles)
      : options_(options), common_(common), cases_(cases), roles_(roles) {}

  // Prints the document's faults.
  ExitStatus Read(const std::string& argument) {
    if (IsGraphModel(argument)) return ReadGraphModel(argument);
    const Descriptor descriptor = ReadDescriptor(argument, options_.line);
    roles_.Reads(descriptor.path, "the descriptor");
    Diagnostics diagnostics;
    Document document =
        ReadDocument(descriptor, options_.level, {options_.confine}, diagnostics, options_.sizes);
    if (document.model) {
      ReadModel(descriptor, *document.model, diagnostics);
    } else if (!document.op || !ReadOperator(argument, *document.op, diagnostics)) {
      PrintDiagnostics(diagnostics, descriptor.name, descriptor.text, UseColor(common_.color));
    }
    return StatusOf(diagnostics);
  }

 private:
  // Adds the nodes of a model that is one file. Sizes come from the files of its inputs; the values
  // between nodes are made up.
  ExitStatus ReadGraphModel(const std::string& path) {
    Diagnostics diagnostics;
    roles_.Reads(path, "the model");
    GraphModel model({path, options_.inputs, options_.sizes, options_.level, options_.confine},
                     diagnostics);
    const NamedGraph* graph = model.Read(diagnostics);
    if (diagnostics.has_errors() || !common_.quiet) {
      PrintDiagnostics(diagnostics, path, "", UseColor(common_.color));
    }
    if (graph == nullptr) return StatusOf(diagnostics);
    for (const GraphNode& node : graph->graph.nodes) {
      Add(fmt::format("{}:{}", path, node.name), node.op, EmptyInputs(node.op));
    }
    return ExitStatus::kSuccess;
  }

  bool ReadOperator(const std::string& argument, OperatorDocument& document,
                    Diagnostics& diagnostics) {
    OperatorCase files(document, {.shapes = options_.shapes, .reads_outputs = true});
    files.Bind(TensorRole::kInput, options_.inputs);
    files.Bind(TensorRole::kOutput, {});
    RequireOneReader(argument, files.InputPaths());
    if (!files.Check(options_.level, diagnostics)) return false;
    for (const TensorSlot& slot : files.Slots(TensorRole::kInput)) {
      roles_.ReadsTensor(files.PathOf(slot), DisplayName(slot.path));
    }
    files.LoadInputs(diagnostics);
    if (diagnostics.has_errors()) return false;

    std::vector<LoadedTensor> inputs = EmptyInputs(document.op());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (files.inputs()[i].view.data != nullptr) inputs[i] = files.inputs()[i];
    }
    const bool is_path = argument != kStandardStream && !IsJsonText(argument);
    Add(is_path ? argument : std::string(document.op().name()), document.op(), std::move(inputs));
    return true;
  }

  // Adds the dispatchables in the document's order, with the input values of their first dispatch.
  void ReadModel(const Descriptor& descriptor, const ModelDocument& model,
                 Diagnostics& diagnostics) {
    if (!options_.inputs.empty()) RefuseForModel("-i is");
    std::optional<ModelInputs> files = BindModelInputs(model, "", descriptor, common_, diagnostics);
    if (!files) return;
    AddSources(model, files->resources, roles_);
    files->resources.Fill();
    ModelRun run(model, files->resources, std::move(files->bound));
    std::vector<std::vector<LoadedTensor>> inputs(model.dispatchables().size());
    for (size_t i = 0; i < model.commands().size(); ++i) {
      const auto* dispatch = std::get_if<DispatchCommand>(&model.commands()[i].what);
      if (dispatch == nullptr) continue;
      if (inputs[dispatch->dispatchable].empty()) {
        for (const ConstTensorView& view : run.TensorsOf(i).inputs) {
          inputs[dispatch->dispatchable].push_back(CopyOf(view));
        }
      }
      run.Dispatch(i);
    }
    for (size_t d = 0; d < inputs.size(); ++d) {
      const ModelDispatchable& dispatchable = model.dispatchables()[d];
      const std::string name = fmt::format("{}:{}", descriptor.name, dispatchable.name);
      if (const Graph* graph = dispatchable.graph()) {
        for (const GraphNode& node : graph->nodes) {
          Add(fmt::format("{}:{}", name, node.name), node.op, EmptyInputs(node.op));
        }
      } else {
        const OperatorDesc& desc = *dispatchable.op();
        Add(name, desc, inputs[d].empty() ? EmptyInputs(desc) : std::move(inputs[d]));
      }
    }
  }

  void Add(const std::string& name, const OperatorDesc& desc, std::vector<LoadedTensor> inputs) {
    std::string unique = Printable(name);
    for (int i = 2; !names_.insert(unique).second; ++i) {
      unique = fmt::format("{}#{}", Printable(name), i);
    }
    cases_.push_back({unique, desc, std::move(inputs)});
  }

  const BenchOptions& options_;
  const CommonOptions& common_;
  std::vector<BenchCase>& cases_;
  FileRoles& roles_;
  std::set<std::string> names_;
};

// Each document would take the standard input for itself.
void RequireOneUseOfStandardInput(const BenchOptions& options) {
  const auto& documents = options.descriptors;
  if (std::count(documents.begin(), documents.end(), kStandardStream) > 1) {
    throw Error(ErrorKind::kUsage, "standard input cannot be two documents");
  }
  if (documents.size() == 1) return;
  for (const std::string& input : options.inputs) {
    const std::string path = FileArgument::Parse(input).path;
    if (path != kStandardStream && path != "/dev/stdin") continue;
    throw Error(ErrorKind::kUsage, "standard input cannot be a tensor of several documents");
  }
}

}  // namespace

ExitStatus ReadBenchCases(const BenchOptions& options, const CommonOptions& common,
                          std::vector<BenchCase>& cases, FileRoles& roles) {
  RequireOneUseOfStandardInput(options);
  CaseReader reader(options, common, cases, roles);
  ExitStatus status = ExitStatus::kSuccess;
  for (const std::string& argument : options.descriptors) {
    status = std::max(status, reader.Read(argument));
  }
  return status;
}

}  // namespace dmlop
