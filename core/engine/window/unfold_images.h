// SPDX-License-Identifier: Apache-2.0
// UNFOLD by way of images: the elements that column taps read from some rows of the input are first
// packed, including zeros of the padding. A row tap then reads such an image as a single run, so
// rows are packed only once for all row taps, and written in whole cache lines.
#pragma once

#include <vector>

#include "core/engine/window/unfold_loop.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Like UnfoldWindows. Returns false, and does nothing, if images would exceed a cache or the output
// written from them, or if rows are long enough without images.
bool UnfoldByImages(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                    const TensorView& output);

}  // namespace dmlop
