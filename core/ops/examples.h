// SPDX-License-Identifier: Apache-2.0
// Small descriptors of every operator as starting points.
#pragma once

#include <span>
#include <string_view>

namespace dmlop {

// The value of fields in the examples of some operators, or, if `operators` is empty, of all that
// have no row of their own. The first row that fits counts.
struct ExampleValue {
  std::string_view operators;  // separated by blanks
  // Members of "desc" as JSON. A tensor has its sizes, or the members that are not the defaults.
  std::string_view fields;
  std::string_view bindings = "{}";  // for inputs that are not random numbers
};

std::span<const ExampleValue> ExampleValues();

}  // namespace dmlop
