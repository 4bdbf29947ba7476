// SPDX-License-Identifier: Apache-2.0
// Converts numbers to elements of a type that cannot hold all of them, and copies elements.
#pragma once

#include <concepts>
#include <limits>

#include "core/tensor/data_type.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

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

// Copies elements of one type one after another into any layout, also where CopyView cannot. The
// views have equal sizes; where the destination has several elements in one place, the last one
// stays there.
void CopyElements(const ConstTensorView& from, const TensorView& to);

}  // namespace dmlop
