// SPDX-License-Identifier: Apache-2.0
// Runs a model that is a case of a batch.
#include <algorithm>

#include "app/batch/model_case.h"
#include "core/graph/node_ranges.h"

namespace dmlop {
namespace {

// Whether the elements of a file are those of a tensor that an operator fills, in the same order.
bool HasSameElements(const TensorDesc& file, const TensorDesc& filled) {
  const auto a = LayoutOf(file), b = LayoutOf(filled);
  return file.data_type == filled.data_type && a.element_count() == b.element_count() &&
         (AreAlike(file, filled) || (IsPacked(a) && IsPacked(b)));
}

}  // namespace

namespace {

// Whether a step has overwritten what it read.
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
