// UNFOLD by way of images: what the column taps see of some rows of the input is put side by side
// first, zeros of the padding included. What a row tap sees of such an image is one run, so that
// rows are put together once for all row taps, and written in whole lines.
#pragma once

#include <vector>

#include "core/engine/window/unfold_loop.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// As UnfoldWindows. False, and nothing is done, where images would be larger than a cache or than
// what is written from them, or rows are long enough without them.
bool UnfoldByImages(const std::vector<UnfoldDim>& dims, const ConstTensorView& input,
                    const TensorView& output);

}  // namespace dmlop
