// What dmlop explain says of an element, for people and for programs.
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
  int64_t count;                          // of what feeds the element, or what it reaches
  std::vector<ExplainedElement> related;  // those, or of a long list both ends
  std::optional<Calculation> calculation;
  std::optional<ActivationStep> activation;
  std::vector<Region> sources;  // of an output element
};

// Long lists are abridged unless `full`, and so are decimals of many digits in text.
std::string ExplanationText(const Explanation& explanation, bool full);

// One object, one line.
std::string ExplanationJson(const Explanation& explanation);

}  // namespace dmlop
