// SPDX-License-Identifier: Apache-2.0
#include "core/engine/window/unfold_loop.h"

#include "core/engine/window/unfold_images.h"
#include "core/engine/window/unfold_moves.h"

namespace dmlop {

void UnfoldWindows(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                   const TensorView& output) {
  if (!UnfoldByImages(dims, input, output)) UnfoldByMoves(dims, input, output);
}

}  // namespace dmlop
