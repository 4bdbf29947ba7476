// SPDX-License-Identifier: Apache-2.0
// Numbers as elements of tensors.
#pragma once

#include <cmath>

#include "core/base/integers.h"
#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// Rounds a number to the type of an output. A NaN becomes 0 as an integer; other numbers are whole
// then, and in the type's range.
inline ElementBytes Stored(DataType type, DoubleDouble number) {
  ElementBytes bytes{};
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, double>) {
      bytes = BytesOf(number.head);
    } else if constexpr (!std::is_integral_v<T>) {
      bytes = BytesOf(RoundOnce<T>(number.head, number.tail));
    } else if (!std::isnan(number.head)) {
      bytes = BytesOf(
          static_cast<T>(static_cast<Int128>(number.head) + static_cast<Int128>(number.tail)));
    }
  });
  return bytes;
}

}  // namespace dmlop
