// What dmlop explain says of an element of a model, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "app/text/explained_element.h"

namespace dmlop {

// The elements of a tensor that matter: all, or of a long list both ends.
struct TracedList {
  std::string name;  // of the tensor
  int64_t count;
  std::vector<ExplainedElement> elements;
};

struct TracedOperator {
  std::string name;  // of the dispatchable, or of the node of a graph
  const OperatorDesc* op;
  bool at_most;  // it may not use all that is listed before it
  std::vector<std::string> inputs;
  std::vector<TracedList> outputs;
};

// What the model begins with: elements of a resource, or of a constant of a graph.
struct TracedOrigin {
  TracedList list;
  bool is_constant;
};

struct ModelTraceReport {
  ExplainedElement element;
  std::vector<TracedOperator> operators;  // from the element back
  std::vector<TracedOrigin> origins;
};

std::string ModelTraceText(const ModelTraceReport& report);

// One object, one line.
std::string ModelTraceJson(const ModelTraceReport& report);

}  // namespace dmlop
