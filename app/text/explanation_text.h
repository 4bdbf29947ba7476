// SPDX-License-Identifier: Apache-2.0
// The explanation of an element of an operator or of a model, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/text/explained_element.h"
#include "core/explain/calculation.h"
#include "core/explain/data_flow.h"
#include "core/ops/operator.h"

namespace dmlop {

struct Explanation {
  const OperatorDesc& desc;
  ExplainedElement element;
  bool is_output;
  int64_t count;                          // number of elements that feed it, or that it reaches
  std::vector<ExplainedElement> related;  // these elements, or the first and last ones
  std::optional<Calculation> calculation;
  std::optional<ActivationStep> activation;
  std::vector<Region> sources;  // if it is an output
  std::optional<VariedValue> varied{};
  std::optional<ActualValue> actual{};
};

// Unless `full`, long lists and, in text, long decimals are abridged.
std::string ExplanationText(const Explanation& explanation, bool full);

// One object on one line; its calculation has been abridged before.
std::string ExplanationJson(const Explanation& explanation, bool full);

// --- explanations of models ----------------------------------------------------------------------

// The elements of a tensor that matter: all, or the first and last ones of a long list.
struct TracedList {
  std::string name;  // the tensor's
  int64_t count;
  std::vector<ExplainedElement> elements;
};

struct TracedOperator {
  std::string name;  // of the dispatchable or the graph's node
  const OperatorDesc* op;
  bool at_most;  // it may not use everything listed for it
  std::vector<std::string> inputs;
  std::vector<TracedList> outputs;
};

// An origin of the model: elements of a resource, or of a constant of a graph.
struct TracedOrigin {
  TracedList list;
  bool is_constant;
};

struct ModelTraceReport {
  ExplainedElement element;
  std::vector<TracedOperator> operators;  // in order from the element back
  std::vector<TracedOrigin> origins;
  std::optional<VariedValue> varied{};  // of the element's operator alone
  std::optional<ActualValue> actual{};
};

// Unless `full`, long lists of partial sums are abridged.
std::string ModelTraceText(const ModelTraceReport& report, bool full);

// One object on one line.
std::string ModelTraceJson(const ModelTraceReport& report, bool full);

}  // namespace dmlop
