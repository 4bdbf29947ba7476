// SPDX-License-Identifier: Apache-2.0
// Tells in words where the elements lie that two tensors differ in.
#pragma once

#include <string>

#include "core/compare/wrong_elements.h"
#include "core/tensor/dims.h"

namespace dmlop {

struct Where {
  std::string box;   // the least box around them: "[0..7, 3, 32..63, *]"; * is a whole dimension
  std::string text;  // what they have in common: "all have w = 55; every element there"
};

// Both are empty if there are no such elements. Takes time linear in their number.
Where WhereOf(const Dims& sizes, const WrongElements& wrong);

// The name of a dimension: n, c, h, w, as DirectML orders four, or n, c, d, h, w; else "axis 2".
std::string AxisName(size_t rank, size_t axis);

}  // namespace dmlop
