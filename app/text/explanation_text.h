// What dmlop explain says of an element, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/explain/calculation.h"
#include "core/explain/data_flow.h"
#include "core/ops/operator.h"

namespace dmlop {

struct ExplainedElement {
  std::string tensor;  // "InputTensors[1]"
  DataType type;
  Dims index;
  int64_t byte_offset;  // in the tensor's buffer
  std::optional<ElementBytes> value;
  std::optional<WindowPlace> window;  // of outputs that show windows
};

struct Explanation {
  const OperatorDesc& desc;
  ExplainedElement element;
  bool is_output;
  int64_t count;                          // of what feeds the element, or what it reaches
  std::vector<ExplainedElement> related;  // those, or of a long list both ends
  std::optional<Calculation> calculation;
  std::vector<Region> sources;  // of an output element
};

// Entries at each end of a list that is abridged.
inline constexpr int64_t kListEdge = 3;

// Decimals of many digits are abridged unless `full`.
std::string ExplanationText(const Explanation& explanation, bool full);

// One object, one line.
std::string ExplanationJson(const Explanation& explanation);

}  // namespace dmlop
