// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/run/model_tensors.h"
#include "app/run/run_comparisons.h"
#include "app/run/runnable_model.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/output_file.h"
#include "core/model/model_run.h"

namespace dmlop {
namespace {

void RefuseBindings(const RunOptions& options) {
  if (options.format == TextFormat::kJson) {
    throw Error(ErrorKind::kUsage, "--format json is for operator descriptors, not for models");
  }
  if (!options.inputs.empty() || !options.outputs.empty()) {
    RefuseForModel("-i and -o are", ", writes them by \"writeFile\" or --keep");
  }
}

// The files that commands write. They appear together, once every command has succeeded.
class ModelFiles {
 public:
  ModelFiles(const std::string& folder, bool reported, NewFolders& folders)
      : folder_(folder), reported_(reported), folders_(folders) {}

  // Keeps the current content of the resource.
  void Write(const std::string& resource, const std::string& target_path,
             const ModelRun::FileContent& content) {
    const std::string path = PathIn(folder_, target_path);
    if (IsStream(path)) {
      return WriteStream(path, {std::as_bytes(std::span(content.header)), content.data});
    }
    folders_.MakeFor(path);
    OutputFile file(path, content.header.size() + content.data.size());
    WriteContent(content, path, file);
    if (reported_) written_.push_back({resource, path, Sha256(file.bytes())});
    files_.Add(std::move(file));
  }

  OutputSet& files() { return files_; }
  const std::vector<ReportedFile>& written() const { return written_; }

 private:
  static void WriteContent(const ModelRun::FileContent& content, const std::string& path,
                           OutputFile& file) {
    const Work work("writing " + path, static_cast<int64_t>(content.data.size()));
    file.Write(0, std::as_bytes(std::span(content.header)));
    ForEachStep(content.data.size(), [&](size_t begin, size_t size) {
      file.Write(content.header.size() + begin, content.data.subspan(begin, size));
    });
  }

  const std::string& folder_;
  bool reported_;
  NewFolders& folders_;
  OutputSet files_;
  std::vector<ReportedFile> written_;
};

// One run of a model. Member functions are in the order in which they are called.
class ModelExecution {
 public:
  ModelExecution(const RunOptions& options, const CommonOptions& common,
                 const Descriptor& descriptor, const ModelDocument& model)
      : options_(options),
        common_(common),
        descriptor_(descriptor),
        model_(model),
        kept_(options, model, folders_),
        filled_(model),
        judged_(options, common, filled_, OutputsOf(model), NamesOf(model)) {}

  bool IsConfined(Diagnostics& diagnostics) const {
    kept_.CheckConfinement({.folder = options_.confine, .output_folder = options_.keep_folder},
                           diagnostics);
    return !diagnostics.has_errors();
  }

  ExitStatus Execute(ModelResources& resources, BoundModel bound) {
    RequireSeparateFiles(resources);
    if (writes_files()) OutliveReader();
    const Clock::time_point start = Clock::now();
    resources.Fill();
    ModelRun run(model_, resources, std::move(bound));
    times_.load_seconds = SecondsSince(start);
    JudgeResources(resources);
    for (size_t i = 0; i < model_.commands().size(); ++i) Carry(i, run);
    judged_.Finish();
    const ExitStatus status = judged_.comparisons().status();
    if (status > ExitStatus::kDifferent) return status;  // a file is missing
    if (!options_.report.empty()) {
      ResultFile(options_.report, Report(resources)).AddTo(files_.files());
    }
    auto& picture = judged_.comparisons().picture();
    if (picture) picture->AddTo(files_.files());
    kept_.Flush(files_.files());
    files_.files().Publish(options_.sync);
    return status;
  }

 private:
  static std::vector<std::string> NamesOf(const ModelDocument& model) {
    std::vector<std::string> names;
    for (const ModelResource& resource : model.resources()) names.push_back(resource.name);
    return names;
  }

  // The resources that commands print or write, in their order.
  static std::vector<std::string> OutputsOf(const ModelDocument& model) {
    std::vector<std::string> names;
    const auto add = [&](size_t resource) {
      const std::string& name = model.resources()[resource].name;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    for (const ModelCommand& command : model.commands()) {
      if (const auto* print = std::get_if<PrintCommand>(&command.what)) add(print->resource);
      if (const auto* write = std::get_if<WriteFileCommand>(&command.what)) add(write->resource);
    }
    return names;
  }

  void JudgeResources(ModelResources& resources) {
    for (size_t i = 0; i < model_.resources().size(); ++i) {
      judged_.JudgeAsResource(model_.resources()[i].name, resources.bytes(i), ListIn(resources, i));
    }
  }

  void RequireSeparateFiles(const ModelResources& resources) const {
    FileRoles roles;
    StandardOutput output;
    roles.Reads(descriptor_.path, "the model");
    AddSources(model_, resources, roles);
    std::set<std::pair<size_t, std::string>> written;  // a resource keeps the last
    for (const ModelCommand& command : model_.commands()) {
      if (std::holds_alternative<PrintCommand>(command.what)) output.AddText("the model");
      const auto* write = std::get_if<WriteFileCommand>(&command.what);
      if (write == nullptr || !written.emplace(write->resource, write->target_path).second)
        continue;
      const std::string path = PathIn(options_.output_folder, write->target_path);
      roles.WritesTensor(path, RoleOf(model_.resources()[write->resource]));
      output.AddTensor(path, RoleOf(model_.resources()[write->resource]));
    }
    judged_.AddTo(roles);
    kept_.AddTo(roles, output);
    roles.Writes(options_.drawing.picture, "the picture");
    roles.Writes(options_.report, "the report");
    output.AddTextFile(options_.report, "the report");
    roles.RequireSeparate();
    output.RequireOneKind();
  }

  bool writes_files() const {
    return !options_.report.empty() || !options_.drawing.picture.empty() || kept_.keeps() ||
           std::ranges::any_of(model_.commands(), [](const ModelCommand& command) {
             return std::holds_alternative<WriteFileCommand>(command.what);
           });
  }

  void Carry(size_t number, ModelRun& run) {
    const auto& what = model_.commands()[number].what;
    if (const auto* print = std::get_if<PrintCommand>(&what)) {
      run.Print(*print, PrintResult);
    } else if (const auto* write = std::get_if<WriteFileCommand>(&what)) {
      files_.Write(model_.resources()[write->resource].name, write->target_path, run.Write(*write));
    } else {
      Dispatch(number, std::get<DispatchCommand>(what), run);
    }
  }

  void WarnOfValues(size_t number, ModelRun& run) {
    Diagnostics warnings;
    run.WarnOfValues(number, warnings);
    Warn(warnings);
  }

  void Warn(const Diagnostics& warnings) {
    warnings_.AppendAll(warnings);
    if (!common_.quiet) TellDiagnostics(warnings, descriptor_, common_);
  }

  // Reports them at the place of the graph, because nodes have no place.
  void WarnOfValues(const Step& step, size_t dispatchable) {
    Diagnostics found;
    dmlop::WarnOfValues(step.op, step.inputs, found);
    Diagnostics warnings;
    const JsonCursor place = model_.dispatchables()[dispatchable].place;
    for (const Diagnostic& one : found.list()) {
      warnings.Warning(one.code, place.pointer(),
                       fmt::format("node '{}': {}: {}", step.name, one.pointer, one.message),
                       place.offset());
    }
    Warn(warnings);
  }

  void Dispatch(size_t number, const DispatchCommand& dispatch, ModelRun& run) {
    const bool warns = !common_.quiet || !options_.report.empty();
    if (warns) WarnOfValues(number, run);
    StepWatch watch;
    watch.may_chain = true;  // no element-wise operator warns of values
    const bool is_graph = model_.dispatchables()[dispatch.dispatchable].graph() != nullptr;
    if (is_graph && warns) {
      watch.before = [&](const Step& step) { WarnOfValues(step, dispatch.dispatchable); };
    }
    if (kept_.keeps() || judged_.needs_steps()) {
      watch.after = [&](const Step& step) {
        if (kept_.keeps()) kept_.Keep(step);
        judged_.Take(step);
      };
      watch.may_chain = false;
    }
    const Clock::time_point start = Clock::now();
    run.Dispatch(number, watch);
    const double seconds = SecondsSince(start);
    times_.run_seconds += seconds;
    if (!common_.verbose) return;
    PrintMessage("dmlop: dispatch '{}' ran in {:.3g} ms\n",
                 Printable(model_.dispatchables()[dispatch.dispatchable].name), seconds * 1e3);
  }

  std::string Report(const ModelResources& resources) const {
    ReportedFiles files;
    for (const ModelResources::SourceFile& source : resources.files()) {
      files.inputs.push_back(
          {model_.resources()[source.resource].name, source.path, Sha256(source.file.bytes())});
    }
    for (const ModelDispatchable& dispatchable : model_.dispatchables()) {
      for (const ModelFile& file : dispatchable.files) {
        files.inputs.push_back({dispatchable.name, file.path, Sha256(file.file.bytes())});
      }
    }
    files.outputs = files_.written();
    for (ReportedFile& file : kept_.Reported()) files.outputs.push_back(std::move(file));
    files.compared = judged_.comparisons().all();
    return ReportText(model_, files, warnings_, times_);
  }

  const RunOptions& options_;
  const CommonOptions& common_;
  const Descriptor& descriptor_;
  const ModelDocument& model_;
  NewFolders folders_;
  KeptTensors kept_;
  const FilledTensors filled_;
  JudgedTensors judged_;
  ModelFiles files_{options_.output_folder, !options_.report.empty(), folders_};
  Diagnostics warnings_;  // about values
  RunTimes times_;
};

}  // namespace

ExitStatus RunModel(const RunOptions& options, const CommonOptions& common,
                    const Descriptor& descriptor, const ModelDocument& model,
                    Diagnostics& diagnostics) {
  RefuseBindings(options);
  std::optional<ModelInputs> inputs =
      BindModelInputs(model, options.input_folder, descriptor, common, diagnostics);
  if (!inputs) return StatusOf(diagnostics);
  ModelExecution execution(options, common, descriptor, model);
  if (!execution.IsConfined(diagnostics)) return TellDiagnostics(diagnostics, descriptor, common);
  return execution.Execute(inputs->resources, std::move(inputs->bound));
}

}  // namespace dmlop
