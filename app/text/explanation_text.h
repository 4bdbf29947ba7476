// SPDX-License-Identifier: Apache-2.0
// The explanation of an element, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/text/device_value.h"
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

}  // namespace dmlop
