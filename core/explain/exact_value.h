// What an element-wise function of floats is before it is rounded.
#pragma once

#include <optional>
#include <span>

#include "core/exact/functions.h"
#include "core/explain/rounding_choice.h"

namespace dmlop {

struct ExactValue {
  CompareWith compare;
  std::optional<Dyadic> exact;  // where it has a finite decimal, and not too many digits
  // About that value; none where it is far beyond what FLOAT32 can tell from 0 or infinity.
  std::optional<double> approximate;
};

// As ExactElement, of finite elements that are no pole; none where the function does not round or
// is not finite.
std::optional<ExactValue> ExactValueOf(ElementWiseFunction function,
                                       std::span<const double> elements,
                                       std::span<const double> numbers);

}  // namespace dmlop
