// SPDX-License-Identifier: Apache-2.0
// Cases that are models: their outputs are written, or compared as those of operators are.

#include <algorithm>
#include <filesystem>

#include "app/batch/batch_case.h"
#include "app/batch/model_case.h"
#include "app/compare/judgement.h"
#include "app/run/runnable_model.h"
#include "app/timing.h"
#include "core/engine/copy/copy_views.h"
#include "core/graph/graph_run.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance kOfOnnx = {.absolute = 1e-7, .relative = 1e-3};  // that of ONNX's own tests

bool IsStated(const ComparisonRules& rules) {
  const Tolerance& all = rules.tolerances.all;
  return all.absolute > 0 || all.relative > 0 || all.ulp > 0 || all.bits ||
         !rules.tolerances.typed.empty() || rules.units.allows_any() || rules.webnn_tolerance;
}

}  // namespace

ModelCase::Settings BatchCase::ForModels() const {
  return {settings_.folder, settings_.options.confine, settings_.options.level,
          settings_.options.sizes};
}

void BatchCase::ReadModel(JsonCursor root) {
  Diagnostics diagnostics;
  ModelLine line = ReadModelLine(root, diagnostics);
  if (diagnostics.has_errors()) return Refuse(diagnostics);
  outcome_.name = line.name.value_or(line.data.value_or(*line.model));
  model_.emplace(ForModels(), std::move(line), diagnostics);
  if (!model_->line().name && !model_->data().empty()) outcome_.name = model_->data();
  TakeModel(diagnostics);
}

void BatchCase::ReadModel(Descriptor descriptor, std::unique_ptr<ModelDocument> model,
                          Diagnostics& diagnostics) {
  model_.emplace(ForModels(), std::move(descriptor), std::move(model), diagnostics);
  TakeModel(diagnostics);
}

void BatchCase::TakeModel(const Diagnostics& diagnostics) {
  outcome_.type = "model";
  if (diagnostics.has_errors()) return Refuse(diagnostics);
  outcome_.warnings = FaultsOf(diagnostics, Severity::kWarning);
}

// ONNX's test data are expected values, unless they are to be judged.
bool BatchCase::is_model_compared() const {
  return settings_.compared || model_->line().data;
}

Side BatchCase::SideOfModel() const {
  return settings_.compared.value_or(Side::kExpected);
}

// Test data that a device wrote lie in a folder like that of the line.
std::string BatchCase::PathOf(const ModelCase::Output& output) const {
  const std::string& data = model_->data();
  if (data.empty()) return settings_.output_folder.Moved(output.path);
  const std::string& folder = settings_.output_folder.folder();
  if (folder.empty() || !settings_.compared) return output.path;
  const fs::path name = fs::path(output.path).filename();
  return (fs::path(folder) / fs::path(data).relative_path() / name).string();
}

bool BatchCase::SkipModelIfMissing() {
  const auto is_missing = [&](const ModelCase::Output& output) {
    return !FileExists(FileOrStandIn(PathOf(output)));
  };
  if (!std::ranges::all_of(model_->outputs(), is_missing)) return false;
  outcome_.missing = std::ssize(model_->outputs());
  outcome_.status = CaseStatus::kMissing;
  return is_finished_ = true;
}

void BatchCase::RunModel() {
  const bool is_compared = is_model_compared();
  Drawing drawing(settings_.options.drawing, settings_.color, {.json = settings_.is_reported()});
  if (is_compared) drawing.RequireOne(model_->outputs().size());
  const Clock::time_point start = Clock::now();
  const auto take = [&](const ModelCase::Output& output, const std::byte* data,
                        const ModelCase::Filling* filling) {
    const PortView port =
        ViewOf({.name = output.name, .type = *output.desc.data_type}, output.desc, data);
    is_compared ? CompareModelOutput(output, port.view, filling, drawing)
                : WriteModelOutput(output, port.view);
  };
  model_->Run(take, /*by_steps=*/is_compared);
  outcome_.times.run_seconds = SecondsSince(start);
  if (settings_.is_reported()) outcome_.files.inputs = model_->InputFiles();
  if (!is_compared) PublishSoon();
}

void BatchCase::WriteModelOutput(const ModelCase::Output& output, const ConstTensorView& view) {
  const std::string path = PathOf(output);
  model_->RequireUnread(output, path);
  settings_.new_folders->MakeFor(path);
  OutputTensor file = OutputTensor::ToFile(path, output.desc, Staging::kInMemory, output.form);
  CopyView(view, file.view());
  if (settings_.is_reported()) {
    outcome_.files.outputs.push_back({output.name, path, Sha256(file.bytes())});
  }
  file.Flush(files_);
}

// A resource has no shape.
FileShapes BatchCase::ShapesOfModel() const {
  return model_->is_document() ? FileShapes::kByCount : settings_.options.rules.shapes;
}

Tolerance BatchCase::ModelTolerance(DataType type, const ModelCase::Filling* filling) const {
  const ModelLine& line = model_->line();
  const ComparisonRules& rules = settings_.options.rules;
  Tolerance tolerance = line.data && !IsStated(rules) ? kOfOnnx
                        : filling != nullptr && filling->begins
                            ? ToleranceFor(rules, filling->step.op, type)
                            : rules.tolerances.For(type);
  if (line.relative) tolerance.relative = *line.relative;
  if (line.absolute) tolerance.absolute = *line.absolute;
  return tolerance;
}

void BatchCase::CompareModelOutput(const ModelCase::Output& output, const ConstTensorView& view,
                                   const ModelCase::Filling* filling, Drawing& drawing) {
  const std::string path = FileOrStandIn(PathOf(output));
  if (dmlop::IsMissing(path)) {
    ++outcome_.missing;
    if (!settings_.options.skip_missing) TellMissing(output.name, path, SideOfModel(), output.desc);
    return;
  }
  const LoadedTensor tensor = LoadCompared(path, output.desc, ShapesOfModel());
  OutputUnits units{nullptr, settings_.options.rules.units};
  if (filling != nullptr && filling->begins) {
    units.find = [&] { return UnitsOf(filling->step, filling->output); };
  }
  outcome_.files.compared.push_back(CompareWith(
      {output.name, path, settings_.is_reported() ? Sha256(tensor.file_bytes) : std::string()},
      tensor, SideOfModel(), view, ModelTolerance(view.type, filling),
      settings_.options.rules.leniency, units, output.form.is_bool, drawing.details()));
  const ComparedFile& compared = outcome_.files.compared.back();
  const Judgement& judgement = compared.judgement;
  std::optional<ResultFile> picture = drawing.MakePicture(judgement);
  if (!judgement.passes() && !PassesAsNoise(filling, compared)) {
    TellDifference(DiffersText(compared), judgement, drawing.Text(judgement));
  }
  if (picture) picture->Publish();
}

// Diagnoses the operator that fills what differs, on what it is given here.
bool BatchCase::PassesAsNoise(const ModelCase::Filling* filling, const ComparedFile& compared) {
  if (!settings_.options.is_diagnosed || filling == nullptr) return false;
  const Step& step = filling->step;
  const TensorDesc& desc = *TensorSlots(step.op, TensorRole::kOutput)[filling->output].desc;
  const bool passes =
      PassesAsNoise(ComputationOf(step), filling->output, compared,
                    LoadFilled(compared.file.path, filling->tensor, desc, ShapesOfModel()));
  outcome_.diagnoses.back().diagnosis.find_same = nullptr;  // the step's inputs will be overwritten
  return passes;
}

std::vector<const OperatorDesc*> BatchCase::operators() const {
  return model_ ? model_->operators() : std::vector<const OperatorDesc*>{&document_->op()};
}

// --- running them --------------------------------------------------------------------------------

namespace {

// Returns whether a file has the elements of a tensor that an operator fills, in the same order.
bool HasSameElements(const TensorDesc& file, const TensorDesc& filled) {
  const auto a = LayoutOf(file), b = LayoutOf(filled);
  return file.data_type == filled.data_type && a.element_count() == b.element_count() &&
         (AreAlike(file, filled) || (IsPacked(a) && IsPacked(b)));
}

// Returns whether a step has overwritten what it read.
bool OverwroteInputs(const Step& step) {
  FilledMemory own;
  own.Add(step);
  return own.IsReadBy(step);
}

}  // namespace

void ModelCase::Run(const TakeOutput& take, bool by_steps) {
  graph_ != nullptr ? RunGraphCase(take, by_steps) : RunDocument(take, by_steps);
}

// Passes the outputs that are taken by steps.
StepWatch ModelCase::WatchFilled(const TakeOutput& take, Progress& progress) const {
  const bool is_any =
      std::ranges::any_of(sources_, [](const Source& source) { return source.filled.has_value(); });
  StepWatch watch{.may_chain = !is_any};
  if (!is_any) return watch;
  watch.after = [&, this](const Step& step) {
    progress.memory.Add(step);
    for (size_t k = 0; k < step.outputs.size(); ++k, ++progress.next) {
      for (size_t i = 0; i < outputs_.size(); ++i) {
        if (sources_[i].filled != progress.next) continue;
        const Filling filling{step, k, filled_->all()[progress.next],
                              !progress.memory.IsReadBy(step)};
        take(outputs_[i], step.outputs[k].data, OverwroteInputs(step) ? nullptr : &filling);
      }
    }
  };
  return watch;
}

void ModelCase::FindFilledPorts() {
  for (Source& source : sources_) {
    if (source.kind != Source::Kind::kPort) continue;
    for (size_t n = 0; n < filled_->all().size(); ++n) {
      if (graph_->outputs[source.number].edge == filled_->all()[n].edge) source.filled = n;
    }
  }
}

void ModelCase::RunGraphCase(const TakeOutput& take, bool by_steps) {
  if (by_steps) FindFilledPorts();
  const GraphOutputs outputs(graph_->graph);
  Progress progress;
  RunGraph(graph_->graph, model_->InputViews(), outputs.views(), WatchFilled(take, progress));
  std::vector<const std::byte*> data(graph_->outputs.size());
  size_t view = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    if (graph_->outputs[i].edge) data[i] = outputs.views()[view++].data;
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!sources_[i].filled) take(outputs_[i], data[sources_[i].number], nullptr);
  }
}

// Finds the operators whose outputs resources hold when they are taken.
void ModelCase::FindFilledResources(ModelRun& run) {
  const auto& commands = document_->commands();
  size_t number = 0;
  const auto note = [&](const Step& step, size_t output, size_t command) {
    const ConstTensorView view = AsConst(step.outputs[output]);
    for (size_t i = 0; i < sources_.size(); ++i) {
      const bool is_write = sources_[i].kind == Source::Kind::kCommand;
      if (sources_[i].kind == Source::Kind::kFilled) continue;
      if (is_write && sources_[i].number < command) continue;
      const size_t resource =
          is_write ? std::get<WriteFileCommand>(commands[sources_[i].number].what).resource
                   : sources_[i].number;
      const std::span<const std::byte> bytes = inputs_->resources.bytes(resource);
      if (!Overlaps(view, bytes)) continue;
      const TensorDesc& desc = *TensorSlots(step.op, TensorRole::kOutput)[output].desc;
      const bool is_held = view.data == bytes.data() && HasSameElements(outputs_[i].desc, desc);
      sources_[i].filled = is_held ? std::optional(number) : std::nullopt;
    }
  };
  for (size_t c = 0; c < commands.size(); ++c) {
    if (!std::holds_alternative<DispatchCommand>(commands[c].what)) continue;
    run.ForEachStep(c, [&](const Step& step) {
      for (size_t k = 0; k < step.outputs.size(); ++k, ++number) note(step, k, c);
    });
  }
}

void ModelCase::RunDocument(const TakeOutput& take, bool by_steps) {
  ModelResources& resources = inputs_->resources;
  resources.Fill();
  ModelRun run(*document_, resources, inputs_->bound);
  if (by_steps) FindFilledResources(run);
  Progress progress;
  const StepWatch watch = WatchFilled(take, progress);
  const auto take_from = [&](Source::Kind kind, size_t number, size_t resource) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const Source& source = sources_[i];
      const bool is_it = source.kind == kind && source.number == number && !source.filled;
      if (is_it) take(outputs_[i], resources.bytes(resource).data(), nullptr);
    }
  };
  for (size_t i = 0; i < document_->commands().size(); ++i) {
    const auto& what = document_->commands()[i].what;
    if (std::holds_alternative<DispatchCommand>(what)) run.Dispatch(i, watch);
    const auto* write = std::get_if<WriteFileCommand>(&what);
    if (write != nullptr) take_from(Source::Kind::kCommand, i, write->resource);
  }
  for (size_t r = 0; r < document_->resources().size(); ++r) {
    take_from(Source::Kind::kResource, r, r);
  }
}

}  // namespace dmlop
