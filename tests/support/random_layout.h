// SPDX-License-Identifier: Apache-2.0
// Sizes and layouts of every form that tensors may have.
#pragma once

#include "core/tensor/layout.h"
#include "tests/support/entropy.h"

namespace dmlop {

// Sizes with at most `max_elements` elements; many sizes are 1, and sometimes one is large.
Dims RandomSizes(const Entropy& from, size_t rank, int64_t max_elements);

// A layout for an output: packed, permuted, padded, every other element, or interleaved. No two
// elements share a place.
Layout RandomOutputLayout(const Entropy& from, const Dims& sizes);

// A layout for an input: that of an output, or a broadcast or otherwise overlapping one.
Layout RandomInputLayout(const Entropy& from, const Dims& sizes);

}  // namespace dmlop
