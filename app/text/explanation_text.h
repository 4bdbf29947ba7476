// SPDX-License-Identifier: Apache-2.0
// The explanation of an element of an operator or of a model, as text and as JSON.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/arithmetic/sum_orders.h"
#include "core/document/document_json.h"
#include "core/explain/calculation.h"
#include "core/explain/data_flow.h"
#include "core/ops/operator.h"
#include "core/tensor/element.h"
#include "core/tensor/layout.h"

namespace dmlop {

// --- elements ------------------------------------------------------------------------------------

struct ExplainedElement {
  std::string tensor;  // such as "InputTensors[1]"
  DataType type;
  Dims index;
  int64_t byte_offset;  // in the tensor's buffer
  std::optional<ElementBytes> value;
  std::optional<WindowPlace> window;  // for outputs that copy windows
};

// A longer list is abridged to this many entries at each end.
inline constexpr int64_t kLongestList = 20;
inline constexpr int64_t kListEdge = 3;

inline ListLength LengthOfLists(bool full) {
  return {full ? std::numeric_limits<int64_t>::max() : kLongestList,
          static_cast<size_t>(kListEdge)};
}

// Calls visit(k) for each listed entry of `count`.
template <typename Visit>
void ForEachListed(int64_t count, bool full, Visit&& visit) {
  const bool is_abridged = !full && count > kLongestList;
  for (int64_t k = 0; k < count; ++k) {
    if (is_abridged && k == kListEdge) k = count - kListEdge;
    visit(k);
  }
}

std::string DimsText(const Dims& dims);
std::string WindowText(const WindowPlace& place);

// A line such as "OutputTensor[0, 2]: FLOAT32, byte offset 8".
std::string PlaceText(const ExplainedElement& element);

// The operator with its fields: "REDUCE SUM over axes {0}".
std::string OperationText(const OperatorDesc& op);

// One line for each element, in columns: all of `count`, or the first and last ones.
std::string ListText(const std::vector<ExplainedElement>& elements, int64_t count);

Json DimsJson(const Dims& dims);
Json DescriptionJson(const ExplainedElement& element);

// --- values that a device has, or may have computed ----------------------------------------------

// With explain --as.
struct VariedValue {
  std::vector<std::string> ids;
  std::string text;  // the ids, each with its meaning
  ElementBytes value{};
  ElementBytes exact{};  // DirectML's result
  // This is counted for each sum that is rounded.
  std::vector<std::vector<PartialSum>> sums;
};

// With explain --actual and --judge.
struct ActualValue {
  double value = 0;
  double error = 0;                // value - expected
  std::string_view type;           // of ULP: the output's, or BFLOAT16
  std::optional<uint64_t> ulp{};   // none unless both values are finite
  std::optional<double> units{};   // likewise, and none where equality is asked for
  std::optional<int64_t> terms{};  // how many units a sum in any order may be off
};

std::string VariedText(const VariedValue& varied, DataType type, bool full);
std::string ActualText(const ActualValue& actual);

Json VariedJson(const VariedValue& varied, DataType type, bool full);
Json ActualJson(const ActualValue& actual);

// --- explanations --------------------------------------------------------------------------------

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
