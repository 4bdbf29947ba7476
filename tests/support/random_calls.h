// SPDX-License-Identifier: Apache-2.0
// Random valid calls of any operator.
#pragma once

#include <string>
#include <vector>

#include "core/fuzz/random_desc.h"
#include "tests/support/operator_call.h"

namespace dmlop {

// A call of a valid descriptor, with tensors at any place in their memory and random elements.
OperatorCall CallOf(const Entropy& from, OperatorDesc desc);

// A call of a descriptor in which some fields may be set. Draws again if the operator refuses the
// fields.
OperatorCall RandomCall(const Entropy& from, const OperatorDesc& begun);

// An operator, or one function of an operator whose types depend on the function.
struct RandomOperator {
  std::string name;
  OperatorDesc begun;

  OperatorCall draw(const Entropy& from) const { return RandomCall(from, begun); }
  friend void PrintTo(const RandomOperator& random, std::ostream* out) { *out << random.name; }
};

// The number of cases that suffice for the operator: element-wise ones share a loop.
int ShareOf(int cases, const RandomOperator& random);

// All operators of the table.
std::vector<RandomOperator> RandomOperators();

}  // namespace dmlop
