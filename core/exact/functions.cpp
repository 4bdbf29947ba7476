// SPDX-License-Identifier: Apache-2.0
#include "core/exact/functions.h"

#include <cmath>

#include "core/exact/double_double.h"
#include "core/exact/transcendental.h"

namespace dmlop {

HeadTail ExactElement(ElementWiseFunction function, std::span<const double> elements,
                      std::span<const double> numbers) {
  const double x = elements[0];
  if (function == ElementWiseFunction::kSoftsign) {
    return DoubleDouble{x, 0} / TwoSum(1.0, std::fabs(x));
  }
  const double a = elements.size() > 1 ? elements[1] : numbers[0];
  return ExactTranscendental(function, {x, a, numbers[1]});
}

bool NeedsExactElements(ElementWiseFunction function, std::span<const double> numbers) {
  using enum ElementWiseFunction;
  const bool divides = function == kCelu || function == kSoftplus;
  return !std::isfinite(numbers[0]) || !std::isfinite(numbers[1]) || (divides && numbers[0] == 0);
}

}  // namespace dmlop
