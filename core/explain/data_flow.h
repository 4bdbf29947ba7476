// Which elements of an operator's inputs feed which elements of its outputs. All descriptors are
// valid.
#pragma once

#include <vector>

#include "core/ops/operator.h"
#include "core/tensor/dims.h"

namespace dmlop {

struct Element {
  size_t tensor;  // its number among those of its role
  Dims index;

  friend bool operator==(const Element&, const Element&) = default;
};

// The parts of the inputs that feed an output element, each element once: none where it is filled.
std::vector<Region> SourcesOf(const OperatorDesc& op, const Element& output);

// The output elements that an input element reaches, by tensors and in row-major order.
std::vector<Element> TargetsOf(const OperatorDesc& op, const Element& input);

}  // namespace dmlop
