// SPDX-License-Identifier: Apache-2.0
// Sizes and layouts of every form that tensors may have.
#pragma once

#include "core/fuzz/entropy.h"
#include "core/tensor/layout.h"

namespace dmlop {

enum class LayoutForms : uint8_t {
  kPacked,
  kUsual,  // packed, permuted, padded or broadcast
  kAll,    // also every other element, interleaved and otherwise overlapping rows, and any strides
           // where they have no meaning
};

// A size: mostly 1 to 9, otherwise powers of two, their neighbours and multiples, or any other
// number up to `most`.
int64_t RandomSize(const Entropy& from, int64_t most);

// Sizes with at most `max_elements` elements; many sizes are 1, and sometimes one is large.
Dims RandomSizes(const Entropy& from, size_t rank, int64_t max_elements);

// A layout for an output. No two elements share a place.
Layout RandomOutputLayout(const Entropy& from, const Dims& sizes,
                          LayoutForms forms = LayoutForms::kAll);

// A layout for an input: that of an output, or a broadcast or otherwise overlapping one.
Layout RandomInputLayout(const Entropy& from, const Dims& sizes,
                         LayoutForms forms = LayoutForms::kAll);

}  // namespace dmlop
