// SPDX-License-Identifier: Apache-2.0
// dmlop explain for an element of a model: what it depends on, operator by operator, back to what
// the model begins with.
#pragma once

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

class ModelTrace {
 public:
  // Takes bound inputs, and fills them.
  ModelTrace(const ModelDocument& model, ModelInputs&& inputs, bool full);

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
  bool IsLastIn(size_t resource, const StepOutput& output);
  Start StartOf(const StepOutput& output) const;
  Start StartOf(size_t resource);
  void Describe(const Trace& trace, ModelTraceReport& report) const;
  static TracedList& ListOf(const ModelRun::Origin& origin, std::vector<TracedOrigin>& told);
  void Rearrange(TracedList& list) const;
  std::string NameOf(const TraceStep& step, size_t number, size_t input) const;
  void TakeValues(const Start& start, const Trace& trace, ModelTraceReport& report);

  const ModelDocument& model_;
  ModelResources resources_;
  ModelRun run_;
  const ListLength length_;
  const FilledTensors filled_;
  std::vector<TraceStep> steps_;
  std::vector<StepOutput> outputs_;  // of all steps, in the order of filled_
};

}  // namespace dmlop
