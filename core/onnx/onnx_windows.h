// SPDX-License-Identifier: Apache-2.0
// The windows of convolutions and pools: what the attributes strides, dilations, pads, auto_pad and
// ceil_mode of a node mean.
#pragma once

#include "core/onnx/onnx_node.h"

namespace dmlop {

// One number for each spatial dimension.
struct OnnxWindows {
  OnnxSizes sizes, strides, dilations;
  OnnxSizes starts, ends;  // padding
  OnnxSizes output;        // numbers of windows

  // Puts dimensions with a window of 1 in front, up to a number of them.
  void Fill(size_t count);
};

// Takes the spatial sizes of the input and those of the windows. Refuses what does not fit.
OnnxWindows WindowsOf(OnnxCall& call, const OnnxSizes& input, const OnnxSizes& windows);

// The attribute kernel_shape; if it may be left out, `otherwise` says what stands for it.
OnnxSizes KernelShape(const OnnxCall& call, size_t spatial, const OnnxSizes* otherwise);

// The sizes behind the first two.
OnnxSizes SpatialSizes(const OnnxCall& call, const OnnxValue& value);

// Sizes with 1s between the first two and the others, up to a rank.
OnnxSizes SpatialOnes(OnnxSizes sizes, size_t rank);

// An image whose channels are last, laid out as DirectML has it, with 1s as SpatialOnes puts them.
OnnxOperand ChannelsFirst(OnnxValue& value, size_t rank);

// A list of one number for each spatial dimension, which are positive.
OnnxSizes SpatialNumbers(const OnnxCall& call, std::string_view attribute, size_t spatial);

// Emits a convolution of the first input with the filter, in windows as the attributes say.
// `settings` are those that only this operator has.
void EmitConvolution(OnnxCall& call, std::string_view op, size_t filter_input, const OnnxType& type,
                     OnnxSettings settings);

}  // namespace dmlop
