// Small descriptors of every operator, to begin with.
#pragma once

#include <span>
#include <string_view>

namespace dmlop {

// What a field is in the example of some operators; without operators, of all that do not say
// something else. The first row that fits counts.
struct ExampleValue {
  std::string_view operators;  // separated by blanks
  // Members of "desc" as JSON. A tensor is its sizes, or has what is not as everywhere.
  std::string_view fields;
  std::string_view bindings = "{}";  // of inputs that are not random numbers
};

std::span<const ExampleValue> ExampleValues();

}  // namespace dmlop
