// Random valid calls of any operator.
#pragma once

#include <string>
#include <vector>

#include "tests/support/operator_call.h"
#include "tests/support/random_desc.h"

namespace dmlop {

// A call of a valid descriptor, with tensors somewhere in their memory and random elements.
OperatorCall CallOf(const Entropy& from, OperatorDesc desc);

// A call of a descriptor in which some fields may be set. What its operator refuses is drawn again.
OperatorCall RandomCall(const Entropy& from, const OperatorDesc& begun);

// An operator, or one function of an operator of which the types depend on its function.
struct RandomOperator {
  std::string name;
  OperatorDesc begun;

  OperatorCall draw(const Entropy& from) const { return RandomCall(from, begun); }
  friend void PrintTo(const RandomOperator& random, std::ostream* out) { *out << random.name; }
};

// How many of so many cases are enough for the operator: element-wise ones share a loop.
int ShareOf(int cases, const RandomOperator& random);

// All of the table.
std::vector<RandomOperator> RandomOperators();

}  // namespace dmlop
