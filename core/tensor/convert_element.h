// SPDX-License-Identifier: Apache-2.0
// Converts numbers to elements of a type that cannot hold all of them.
#pragma once

#include <concepts>
#include <limits>

#include "core/tensor/data_type.h"
#include "core/tensor/element.h"

namespace dmlop {

// Truncates toward zero. A value beyond the range of T becomes its nearest end; NaN becomes 0.
template <std::integral T>
T Truncated(double value) {
  using Numbers = std::numeric_limits<T>;
  if (value != value) return 0;
  if (value <= static_cast<double>(Numbers::min())) return Numbers::min();
  if (value >= static_cast<double>(Numbers::max())) return Numbers::max();
  return static_cast<T>(value);
}

// Converts a FLOAT attribute to an element of any type: rounded to the nearest FLOAT16, or
// truncated.
ElementBytes ConvertElement(float value, DataType type);

}  // namespace dmlop
