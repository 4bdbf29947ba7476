// SPDX-License-Identifier: Apache-2.0
// dmlop explain for a model's element: what it depends on, back to what the model begins with.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/run/runnable_model.h"
#include "app/text/explanation_text.h"
#include "core/explain/element_name.h"
#include "core/explain/element_trace.h"
#include "core/model/model_document.h"

namespace dmlop {

// The names of the tensors that a model's operators fill, and of its resources, in order. Edges of
// graphs have two names: "y" and "graph.y".
std::vector<std::string> TracedNames(const ModelDocument& model);

// Called with the operator of the element, before it runs, the element as its output, and the
// tensor, which it is about to fill.
using AskOfDevice = std::function<void(const Computation&, const Element& output,
                                       const FilledTensors::One& tensor, ModelTraceReport& report)>;

class ModelTrace {
 public:
  ModelTrace(RunnableModel model, bool full);

  // Explains an element of a tensor as it is last filled, or of a resource after all commands. Null
  // if there is no such element or if several tensors have the name, which is reported. Throws an
  // Error of kind kUsage if it is to be asked of an element that no operator computes.
  std::optional<ModelTraceReport> Explain(const ElementName& name, Diagnostics& faults,
                                          const AskOfDevice& ask = nullptr);

 private:
  // The tensor of the element, and the number of steps before it is taken.
  struct Start {
    ConstTensorView view;
    TensorDesc desc;  // as users know it: the operator may have other sizes for the same memory
    size_t steps;
    std::optional<size_t> output;  // of the last step; null for a resource
  };

  std::optional<Start> Find(const ElementName& element, Diagnostics& faults);
  bool IsLastIn(const RunnableModel::Resource& resource, const StepOutput& output);
  Start StartOf(size_t filled) const;
  Start StartOf(const RunnableModel::Resource& resource) const;
  void Describe(const Trace& trace, ModelTraceReport& report) const;
  void IndexAsKnown(const Start& start, const Trace& trace, ModelTraceReport& report) const;
  static TracedList& ListOf(const ModelRun::Origin& origin, std::vector<TracedOrigin>& told);
  void Rearrange(TracedList& list) const;
  std::string NameOf(const TraceStep& step, size_t number, size_t input) const;
  void TakeValues(const Start& start, const Trace& trace, const AskOfDevice& ask,
                  ModelTraceReport& report);

  const RunnableModel model_;
  const ListLength length_;
};

// --- operators that --dispatchable may name ------------------------------------------------------

struct ModelOperator {
  std::string name;           // of the dispatchable or the node
  std::string name_in_graph;  // "graph.node"; empty for a dispatchable
  const OperatorDesc* op;     // in the model
};

std::vector<ModelOperator> OperatorsOf(const ModelDocument& model);

// Names by which FindModelOperator finds each operator: the short name if it is unique.
std::vector<std::string> ShortestNames(const std::vector<ModelOperator>& all);

// The names of their tensor fields, each once.
std::vector<std::string_view> FieldsOf(const std::vector<ModelOperator>& all);

// The dispatchable called `name` or, if there is none, the node of a graph. Throws an Error of kind
// kUsage if the name is that of several nodes or of a graph; null if nothing has it.
const ModelOperator* FindModelOperator(const ModelDocument& model,
                                       const std::vector<ModelOperator>& all,
                                       const std::string& name);

}  // namespace dmlop
