// SPDX-License-Identifier: Apache-2.0
// Fills a view with one value.
#pragma once

#include "core/engine/copy/tiled_loop.h"
#include "core/tensor/element.h"

namespace dmlop {

// The first bytes of `value` hold an element of the output's type.
inline void FillView(const ElementBytes& value, const TensorView& output) {
  const Dims& sizes = output.layout.sizes;
  CopyView({value.data(), output.type, {sizes, Dims::Filled(sizes.size(), 0)}}, output);
}

}  // namespace dmlop
