// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/run/model_tensors.h"
#include "app/run/run_comparisons.h"
#include "app/text/diagnostic_text.h"
#include "app/text/tensor_text.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/engine/copy/copy_views.h"
#include "core/graph/graph_run.h"

namespace dmlop {
namespace {

// One run from file to files. Member functions are in the order in which they are called.
class GraphExecution {
 public:
  GraphExecution(const RunOptions& options, const CommonOptions& common)
      : options_(options), common_(common) {}

  ExitStatus Execute() {
    RefuseOptions();
    const Clock::time_point start = Clock::now();
    model_.emplace(GraphRequest{options_.descriptor, options_.inputs, options_.sizes,
                                options_.level, options_.confine},
                   diagnostics_);
    graph_ = model_->Read(diagnostics_);
    if (diagnostics_.has_errors() || !common_.quiet) Tell(diagnostics_);
    if (graph_ == nullptr) return StatusOf(diagnostics_);
    model_->RequireBoundInputs();
    PlanOutputs();
    times_.load_seconds = SecondsSince(start);
    if (writes_files()) OutliveReader();
    Compute();
    CompareOutputs();
    const ExitStatus status = judged_->comparisons().status();
    if (status > ExitStatus::kDifferent) return status;  // a file is missing
    Publish();
    return status;
  }

 private:
  struct Output {
    const GraphPort* port;
    std::string path;  // empty if it is not written
    TensorDesc desc;
    Buffer buffer;

    PortView view() const { return ViewOf(*port, desc, buffer.data()); }
  };

  bool is_json() const { return options_.format == TextFormat::kJson; }

  void RefuseOptions() const {
    if (options_.line) throw Error(ErrorKind::kUsage, "--line is for manifests");
    if (!options_.input_folder.empty() || !options_.output_folder.empty()) {
      throw Error(ErrorKind::kUsage,
                  "--input-path and --output-path are for DxDispatch models; name the folder in -i "
                  "and -o");
    }
  }

  void Tell(const Diagnostics& diagnostics) const {
    PrintDiagnostics(diagnostics, options_.descriptor, "", UseColor(common_.color));
  }

  // --- files -------------------------------------------------------------------------------------

  // Memory that cannot be had is refused before it is touched.
  void RequireMemory() const {
    const Graph& graph = graph_->graph;
    CheckedU64 needed =
        std::max(PlanGraph(graph, SingleNodes(graph)).size, PlanGraph(graph, ChainsOf(graph)).size);
    for (const GraphPort& port : graph_->outputs) {
      if (port.edge) needed = CheckedAdd(needed, SizeInBytes(*graph.edges[*port.edge].desc));
    }
    const uint64_t available = AvailableMemory();
    if (needed && *needed <= available) return;
    throw Error(ErrorKind::kFileSystem, "{}: needs {} of memory; {} are left", options_.descriptor,
                needed ? Counted(*needed, "byte") : "more than 2^64 bytes", available);
  }

  void PlanOutputs() {
    RequireMemory();
    std::vector<std::string> names;
    for (const GraphPort& port : graph_->outputs) {
      names.push_back(port.name);
      const bool is_there = port.edge.has_value();
      const TensorDesc desc = DescOf(port);
      const size_t size = is_there ? SizeInBytes(desc) : 0;
      outputs_.push_back({&port, "", desc, Buffer(size)});
    }
    for (const NamedFile& file : AssignFiles(options_.outputs, names, "output")) {
      OutputCalled(file.name).path = file.path;
    }
    filled_.emplace(*graph_);
    judged_.emplace(options_, common_, *filled_, names);
    JudgeWithUnits();
    kept_.emplace(options_, *graph_, folders_);
    CheckFiles();
  }

  Output& OutputCalled(const std::string& name) {
    return *std::ranges::find_if(outputs_,
                                 [&](const Output& one) { return one.port->name == name; });
  }

  // Outputs of operators that read only what the model begins with are judged in units.
  void JudgeWithUnits() {
    const auto begins = [&](size_t edge) {
      const std::vector<size_t>& inputs = graph_->graph.inputs;
      return graph_->graph.edges[edge].constant || std::ranges::find(inputs, edge) != inputs.end();
    };
    for (size_t n = 0; n < filled_->all().size(); ++n) {
      const FilledTensors::One& one = filled_->all()[n];
      for (const GraphPort& port : graph_->outputs) {
        const bool is_it = port.edge == one.edge;
        if (is_it && std::ranges::all_of(EdgesOf(graph_->graph.nodes[one.node], TensorRole::kInput),
                                         begins)) {
          judged_->JudgeAsFilled(port.name, n);
        }
      }
    }
  }

  bool writes_files() const {
    return !options_.report.empty() || !options_.drawing.picture.empty() || kept_->keeps() ||
           std::ranges::any_of(outputs_, [](const Output& one) { return !one.path.empty(); });
  }

  bool IsPrinted(const Output& output) const {
    return output.path.empty() && !judged_->Has(output.port->name);
  }

  // Each file has one use; standard output takes tensors or text, but not both.
  void CheckFiles() const {
    FileRoles roles;
    StandardOutput standard;
    model_->AddTo(roles);
    for (const Output& output : outputs_) {
      const std::string& name = output.port->name;
      if (IsPrinted(output) || is_json()) standard.AddText(name);
      if (output.path.empty()) continue;
      OutputFormatOf(output.path);
      roles.WritesTensor(output.path, name);
      standard.AddTensor(output.path, name);
    }
    judged_->AddTo(roles);
    kept_->AddTo(roles, standard);
    roles.Writes(options_.report, "the report");
    roles.Writes(options_.drawing.picture, "the picture");
    standard.AddTextFile(options_.report, "the report");
    roles.RequireSeparate();
    standard.RequireOneKind();
  }

  // --- the run -----------------------------------------------------------------------------------

  void WarnOfValues(const Step& step) {
    Diagnostics found, warnings;
    dmlop::WarnOfValues(step.op, step.inputs, found);
    for (const Diagnostic& one : found.list()) {
      warnings.Warning(one.code, "",
                       fmt::format("node '{}': {}: {}", step.name, one.pointer, one.message));
    }
    warnings_.AppendAll(warnings);
    if (!common_.quiet) Tell(warnings);
  }

  void Take(const Step& step) {
    if (kept_->keeps()) kept_->Keep(step);
    judged_->Take(step);
  }

  void Compute() {
    std::vector<TensorView> outputs;
    for (Output& output : outputs_) {
      if (!output.port->edge) continue;
      const TensorDesc& desc = *graph_->graph.edges[*output.port->edge].desc;
      outputs.push_back({output.buffer.data(), *desc.data_type, LayoutOf(desc)});
    }
    const bool takes_all = kept_->keeps() || judged_->needs_steps();
    StepWatch watch{.may_chain = !takes_all};
    if (!common_.quiet || !options_.report.empty()) {
      watch.before = [&](const Step& step) { WarnOfValues(step); };
    }
    if (takes_all) watch.after = [&](const Step& step) { Take(step); };
    const std::vector<ConstTensorView> inputs = model_->InputViews();
    const Clock::time_point start = Clock::now();
    RunGraph(graph_->graph, inputs, outputs, watch);
    times_.run_seconds = SecondsSince(start);
    if (common_.verbose) {
      PrintMessage("dmlop: {} ran in {:.3g} ms\n", Printable(options_.descriptor),
                   times_.run_seconds * 1e3);
    }
  }

  // --- comparisons -------------------------------------------------------------------------------

  void CompareOutputs() {
    for (const Output& output : outputs_) {
      judged_->Compare(output.port->name, output.buffer.data(), output.desc, output.port->is_bool);
    }
    judged_->Finish();
  }

  // --- results -----------------------------------------------------------------------------------

  void Publish() {
    is_json() ? PrintJson() : Print();
    OutputSet files;
    std::vector<ReportedFile> written;
    for (const Output& output : outputs_) {
      if (!output.path.empty()) Write(output, files, written);
    }
    if (!options_.report.empty()) {
      ResultFile report(options_.report, Report(std::move(written)));
      report.AddTo(files);
    }
    auto& picture = judged_->comparisons().picture();
    if (picture) picture->AddTo(files);
    kept_->Flush(files);
    files.Publish(options_.sync);
  }

  void Print() const {
    for (const Output& output : outputs_) {
      if (!IsPrinted(output)) continue;
      WriteTensor(output.port->name, output.view().view,
                  {.full = options_.full, .columns = OutputWidth()}, PrintResult);
    }
  }

  void PrintJson() const {
    Json outputs = Json::array();
    for (const Output& output : outputs_) {
      if (!IsPrinted(output)) continue;
      Json json = {{"tensor", output.port->name}};
      json.update(TensorJson(output.view().view, options_.full));
      outputs.push_back(std::move(json));
    }
    const Json comparisons = ComparisonsJson(judged_->comparisons().all());
    PrintResult(Utf8Text({{"outputs", outputs}, {"comparisons", comparisons}}) + "\n");
  }

  void Write(const Output& output, OutputSet& files, std::vector<ReportedFile>& written) {
    folders_.MakeFor(output.path);
    OutputTensor file =
        OutputTensor::ToFile(output.path, output.desc, Staging::kInMemory, FormOf(*output.port));
    if (output.port->edge) CopyView(output.view().view, file.view());
    if (!options_.report.empty()) {
      written.push_back({output.port->name, output.path, Sha256(file.bytes())});
    }
    file.Flush(files);
  }

  std::string Report(std::vector<ReportedFile> written) const {
    ReportedFiles files;
    for (const NamedFile& file : model_->input_files()) {
      files.inputs.push_back(
          {file.name, file.path, Sha256(model_->BoundTo(file.name)->file_bytes)});
    }
    files.outputs = std::move(written);
    for (ReportedFile& file : kept_->Reported()) files.outputs.push_back(std::move(file));
    files.compared = judged_->comparisons().all();
    return ReportText(*graph_, files, warnings_, times_);
  }

  const RunOptions& options_;
  const CommonOptions& common_;
  Diagnostics diagnostics_;
  Diagnostics warnings_;  // about values
  std::optional<GraphModel> model_;
  const NamedGraph* graph_ = nullptr;
  NewFolders folders_;
  std::optional<FilledTensors> filled_;
  std::optional<JudgedTensors> judged_;
  std::optional<KeptTensors> kept_;
  std::vector<Output> outputs_;
  RunTimes times_;
};

}  // namespace

ExitStatus RunGraphModel(const RunOptions& options, const CommonOptions& common) {
  return GraphExecution(options, common).Execute();
}

}  // namespace dmlop
