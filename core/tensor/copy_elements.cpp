// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/copy_elements.h"

#include <cstring>

#include "core/tensor/loop_nest.h"

namespace dmlop {

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
