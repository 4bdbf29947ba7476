// SPDX-License-Identifier: Apache-2.0
// dmlop explain for an element of a model: what it depends on, operator by operator, back to what
// the model begins with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/run/filled_tensors.h"
#include "app/run/model_inputs.h"
#include "app/text/trace_text.h"
#include "core/explain/element_name.h"
#include "core/explain/element_trace.h"
#include "core/model/model_run.h"

namespace dmlop {

// The names of the tensors that a model's operators fill, and of its resources, in order. Edges of
// graphs have two names: "y" and "graph.y".
std::vector<std::string> TracedNames(const ModelDocument& model);

// The thing that is traced: a document that has been bound, or a graph.
struct TracedModel {
  // A tensor that the model begins or ends with, besides those that operators fill.
  struct Resource {
    std::string name;
    ConstTensorView view;
    TensorDesc desc;
  };

  FilledTensors filled;
  std::vector<Resource> resources;
  std::function<void(const VisitStep&)> for_each_step;
  // Runs until goes_on() is false, or longer.
  std::function<void(const StepWatch&, const std::function<bool()>& goes_on)> run;
  std::function<std::optional<ModelRun::Origin>(const std::byte*)> origin_of;
};

// Takes bound inputs, and fills them. The model must outlive the result.
TracedModel TracedDocument(const ModelDocument& model, ModelInputs&& inputs);

// Takes the inputs for RunGraph. The graph and the inputs must outlive the result.
TracedModel TracedGraph(const NamedGraph& graph, std::vector<ConstTensorView> inputs);

class ModelTrace {
 public:
  ModelTrace(TracedModel model, bool full);

  // Explains an element of a tensor as it is last filled, or of a resource after all commands. Null
  // if there is no such element or if several tensors have the name, which is reported.
  std::optional<ModelTraceReport> Explain(const ElementName& name, Diagnostics& faults);

 private:
  // The tensor of the element, and the number of steps before it is taken.
  struct Start {
    ConstTensorView view;
    TensorDesc desc;
    size_t steps;
    std::optional<size_t> output;  // of the last step; null for a resource
  };

  void Plan();
  std::optional<Start> Find(const ElementName& element, Diagnostics& faults);
  bool IsLastIn(const TracedModel::Resource& resource, const StepOutput& output);
  Start StartOf(const StepOutput& output) const;
  Start StartOf(const TracedModel::Resource& resource) const;
  void Describe(const Trace& trace, ModelTraceReport& report) const;
  static TracedList& ListOf(const ModelRun::Origin& origin, std::vector<TracedOrigin>& told);
  void Rearrange(TracedList& list) const;
  std::string NameOf(const TraceStep& step, size_t number, size_t input) const;
  void TakeValues(const Start& start, const Trace& trace, ModelTraceReport& report);

  const TracedModel model_;
  const ListLength length_;
  std::vector<TraceStep> steps_;
  std::vector<StepOutput> outputs_;  // of all steps, in the order of model_.filled
};

}  // namespace dmlop
