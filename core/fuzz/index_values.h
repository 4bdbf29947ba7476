// SPDX-License-Identifier: Apache-2.0
// Values for tensors of indices, of lengths and of regions, without regard to what DirectML leaves
// open.
#pragma once

#include "core/fuzz/entropy.h"
#include "core/ops/operator.h"

namespace dmlop {

// Draws values of an input with indices: most are in range or a little outside, on either side of 0
// if the type is signed; some keep their values.
void DrawIndices(const Entropy& from, const OperatorDesc& desc, const TensorView& view);

// Turns most elements of a tensor into corners of regions in small images.
void DrawCorners(const Entropy& from, const TensorView& view);

// Turns elements of a tensor of INT32, FLOAT32 or FLOAT16 into integers in [least, most].
void DrawNumbers(const Entropy& from, int64_t least, int64_t most, const TensorView& view);

}  // namespace dmlop
