// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/element.h"

#include <cmath>

#include "core/tensor/loop_nest.h"
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

void CopyElements(const ConstTensorView& from, const TensorView& to) {
  const size_t width = ByteWidth(to.type);
  const LoopNest<2> nest =
      Merged(LoopNest<2>{to.layout.sizes, {to.layout.strides, from.layout.strides}});
  Walk<2> walk(nest, 0);
  for (int64_t i = 0; i < to.layout.element_count(); ++i, walk.Next()) {
    std::memcpy(to.data + walk.offset(0) * static_cast<int64_t>(width),
                from.data + walk.offset(1) * static_cast<int64_t>(width), width);
  }
}

}  // namespace dmlop
