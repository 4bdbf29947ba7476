// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/compare/judgement.h"
#include "app/explain/device_element.h"
#include "app/explain/model_trace.h"
#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/model/model_text.h"

namespace dmlop {
namespace {

// The explanation of the element that the options name. Member functions are in calling order.
class ModelElementExplanation {
 public:
  ModelElementExplanation(const ExplainOptions& options, const CommonOptions& common)
      : options_(options), common_(common), varied_("--as", options.as) {}

  // The names are those of the model's tensors, and what else an element may be called.
  ExitStatus Explain(RunnableModel model, const std::vector<std::string>& names) {
    const auto name = ParseModelElementName(options_.element, faults_);
    if (!name || !HasTensor(model, *name, names)) return Refuse();
    AskOfDevice ask;
    if (IsOfDevice()) {
      ask = [this, &names](const Computation& computation, const Element& output,
                           const FilledTensors::One& tensor, ModelTraceReport& report) {
        Ask(tensor, names, computation, output, report);
      };
    }
    ModelTrace trace(std::move(model), options_.full);
    const auto report = trace.Explain(*name, faults_, ask);
    if (!report) return Refuse();
    PrintResult(options_.format == TextFormat::kJson ? ModelTraceJson(*report, options_.full)
                                                     : ModelTraceText(*report, options_.full));
    return ExitStatus::kSuccess;
  }

 private:
  bool HasTensor(const RunnableModel& model, const ElementName& name,
                 const std::vector<std::string>& names) {
    const bool begins = std::ranges::find(model.resources, name.field,
                                          &RunnableModel::Resource::name) != model.resources.end();
    if (begins || !model.filled.Find(name.field).empty()) return true;
    const std::vector<std::string_view> all(names.begin(), names.end());
    faults_.Error(
        "ELEM-2", "",
        fmt::format("the model has no tensor '{}'{}", name.field, DidYouMeanOneOf(name.field, all)),
        0);
    return false;
  }

  ExitStatus Refuse() const {
    PrintDiagnostics(faults_, "<element>", options_.element, UseColor(common_.color));
    return ExitStatus::kUsage;
  }

  bool IsOfDevice() const {
    return !varied_.empty() || options_.actual || !options_.judged.empty();
  }

  void Ask(const FilledTensors::One& tensor, const std::vector<std::string>& names,
           const Computation& computation, const Element& output, ModelTraceReport& report) const {
    if (!varied_.empty()) {
      report.varied = VariedValueOf(varied_, computation,
                                    varied_.Changed(computation.op, computation.inputs), output);
    }
    const auto actual = ActualOf(tensor, report.element.tensor, names, computation.op, output);
    if (actual) report.actual = ActualValueOf(*actual, computation, output);
  }

  // The device's value, of the command line or of the judged file.
  std::optional<DeviceValue> ActualOf(const FilledTensors::One& tensor, const std::string& name,
                                      const std::vector<std::string>& names, const OperatorDesc& op,
                                      const Element& output) const {
    const TensorDesc& desc = *TensorSlots(op, TensorRole::kOutput)[output.tensor].desc;
    if (options_.actual) return ValueFrom(*options_.actual, *desc.data_type);
    const auto files = AssignFiles(options_.judged, {name}, "tensor", names);
    const auto file = std::ranges::find(files, name, &NamedFile::name);
    if (file == files.end()) return std::nullopt;
    const LoadedTensor judged = LoadFilled(file->path, tensor, desc, options_.shapes);
    return ValueIn(judged, file->path, desc, output.index);
  }

  const ExplainOptions& options_;
  const CommonOptions& common_;
  const VariedRun varied_;
  Diagnostics faults_;  // of the element
};

}  // namespace

namespace {

// The model as a whole; null if it has faults. Prints what is found.
const NamedGraph* ReadGraphModel(GraphModel& model, const CommonOptions& common,
                                 Diagnostics& diagnostics) {
  const NamedGraph* read = model.Read(diagnostics);
  if (read == nullptr || !common.quiet) {
    PrintDiagnostics(diagnostics, model.path(), "", UseColor(common.color));
  }
  return read;
}

GraphRequest RequestOf(const ExplainOptions& options) {
  return {options.descriptor, options.inputs, options.sizes, kHighestFeatureLevel, options.confine};
}

std::vector<std::string> NamesOf(const NamedGraph& graph, ListedNames listed) {
  std::vector<std::string> names;
  if (listed == ListedNames::kDispatchables) {
    for (const GraphNode& node : graph.graph.nodes) names.push_back(node.name);
    return names;
  }
  const FilledTensors filled(graph);
  for (const FilledTensors::One& one : filled.all()) names.push_back(one.name);
  return names;
}

}  // namespace

ExitStatus ExplainGraph(const ExplainOptions& options, const CommonOptions& common) {
  Diagnostics diagnostics;
  GraphModel model(RequestOf(options), diagnostics);
  const NamedGraph* read = ReadGraphModel(model, common, diagnostics);
  if (read == nullptr) return StatusOf(diagnostics);
  const NamedGraph graph = WithAlignedConstants(*read);
  std::vector<std::string> names = NamesOf(graph, options.listed.value_or(ListedNames::kTensors));
  if (options.listed) {
    for (const std::string& name : names) PrintResult(name + "\n");
    return ExitStatus::kSuccess;
  }
  model.RequireBoundInputs();
  for (const GraphPort& port : graph.inputs) names.push_back(port.name);
  return ModelElementExplanation(options, common)
      .Explain(RunnableOf(graph, model.InputViews()), names);
}

std::optional<Descriptor> NodeOfGraph(const ExplainOptions& options, const CommonOptions& common,
                                      Diagnostics& diagnostics) {
  GraphModel model(RequestOf(options), diagnostics);
  const NamedGraph* read = ReadGraphModel(model, common, diagnostics);
  if (read == nullptr) return std::nullopt;
  const std::string& name = options.dispatchable;
  const std::vector<std::string> names = NamesOf(*read, ListedNames::kDispatchables);
  if (std::ranges::find(names, name) == names.end()) {
    throw Error(ErrorKind::kUsage, "the model has no node '{}'{}", name,
                DidYouMeanOneOf(name, std::vector<std::string_view>(names.begin(), names.end())));
  }
  const GraphOutputs outputs(read->graph);
  std::string text;
  WriteDescriptors(
      read->graph, model.InputViews(), outputs.views(),
      [&](std::string_view node) { return node == name; },
      [&](const WrittenDescriptor& written) { text = written.text; }, diagnostics);
  diagnostics = {};  // inputs that are left out are not explained with values
  return Descriptor{fmt::format("{}, '{}'", options.descriptor, name), "", std::move(text)};
}

ExitStatus ExplainModel(const ExplainOptions& options, const CommonOptions& common,
                        const Descriptor& descriptor, const ModelDocument& model,
                        Diagnostics& diagnostics) {
  if (!options.inputs.empty()) RefuseForModel("-i is");
  ModelElementExplanation explanation(options, common);
  auto inputs = BindModelInputs(model, options.input_folder, descriptor, common, diagnostics);
  if (!inputs) return StatusOf(diagnostics);
  std::vector<std::string> names = TracedNames(model);
  for (const std::string_view field : FieldsOf(OperatorsOf(model))) names.emplace_back(field);
  return explanation.Explain(RunnableOf(model, std::move(*inputs)), names);
}

}  // namespace dmlop
