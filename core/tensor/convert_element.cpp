// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/convert_element.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/tensor/visit_data_type.h"

namespace dmlop {

ElementBytes ConvertElement(float value, DataType type) {
  ElementBytes bytes{};
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    T element;
    if constexpr (std::is_same_v<T, Half>) {
      element = ToHalf(value);
    } else if constexpr (std::is_integral_v<T>) {
      element = Truncated<T>(static_cast<double>(value));
    } else if constexpr (std::is_same_v<T, double>) {
      element = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : double{value};
    } else {
      element = value;
    }
    bytes = BytesOf(element);
  });
  return bytes;
}

}  // namespace dmlop
